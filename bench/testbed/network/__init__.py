"""Rows of a network: the agent on this machine's kernel, in namespaces, on 94 Mbit/s."""
