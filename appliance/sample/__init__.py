"""A sample organisation: a fleet of 300 VMs whose hosts send as real ones do, to try Sluice on."""
