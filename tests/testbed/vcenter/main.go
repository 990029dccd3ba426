// A vCenter of govmomi's simulator with two hosts and two virtual machines.
//
// The simulator's virtual disks have no instances and no latencies: they are given those of one disk.
// And it answers a question about every instance of a counter with one that is called "*": a real
// vCenter answers with each.
// Its settings of shares, limits, Storage I/O Control, Storage DRS and Network I/O Control are put in
// place here: the simulator keeps them, but has no methods for all of them.
// It prints its address and goes on until it is stopped. With -tls it speaks TLS, and prints the file of
// its certificate after the address.
package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"log"
	"net/url"
	"os"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/vpx"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

const disk = "scsi0:0"

// What each counter shows at any time, but for the simulator's noise of a fifth from five on.
var ofGuest = map[string]int64{
	"virtualDisk.numberReadAveraged":  200, // a second
	"virtualDisk.numberWriteAveraged": 100,
	"virtualDisk.totalReadLatency":    4, // ms
	"virtualDisk.totalWriteLatency":   3,
	"virtualDisk.read":                1600, // KiB a second
	"virtualDisk.write":               800,
}

var ofHost = map[string]int64{
	"datastore.numberReadAveraged":             300,
	"datastore.numberWriteAveraged":            150,
	"datastore.totalReadLatency":               4,
	"datastore.totalWriteLatency":              3,
	"datastore.datastoreIops":                  450,
	"datastore.sizeNormalizedDatastoreLatency": 4000, // microseconds
	"datastore.siocActiveTimePercentage":       2,
	"disk.numberReadAveraged":                  300,
	"disk.numberWriteAveraged":                 150,
	"disk.deviceReadLatency":                   3,
	"disk.deviceWriteLatency":                  2,
	"disk.kernelReadLatency":                   1,
}

type performance struct {
	*simulator.PerformanceManager
}

func (m *performance) QueryPerf(ctx *simulator.Context, req *types.QueryPerf) soap.HasFault {
	for i, spec := range req.QuerySpec {
		known := m.QueryAvailablePerfMetric(ctx, &types.QueryAvailablePerfMetric{
			This: req.This, Entity: spec.Entity, IntervalId: spec.IntervalId,
		}).(*methods.QueryAvailablePerfMetricBody)
		var each []types.PerfMetricId
		for _, asked := range spec.MetricId {
			for _, one := range known.Res.Returnval {
				if one.CounterId == asked.CounterId && (asked.Instance == "*" || asked.Instance == one.Instance) {
					each = append(each, one)
				}
			}
		}
		req.QuerySpec[i].MetricId = each
	}
	return m.PerformanceManager.QueryPerf(ctx, req)
}

// What an administrator has set: the first VM has a fast disk with a limit, the second is of no weight.
func set(registry *simulator.Registry) {
	var guests []types.ManagedObjectReference
	for _, entity := range registry.All("VirtualMachine") {
		guest := entity.(*simulator.VirtualMachine)
		guests = append(guests, guest.Self)
		isFirst := strings.HasSuffix(guest.Name, "_VM0")
		for _, device := range guest.Config.Hardware.Device {
			if disk, is := device.(*types.VirtualDisk); is {
				if isFirst {
					disk.StorageIOAllocation = &types.StorageIOAllocationInfo{
						Limit:       types.NewInt64(500),
						Shares:      &types.SharesInfo{Level: types.SharesLevelHigh, Shares: 2000},
						Reservation: types.NewInt32(0),
					}
				} else {
					disk.StorageIOAllocation = &types.StorageIOAllocationInfo{
						Limit:  types.NewInt64(-1),
						Shares: &types.SharesInfo{Level: types.SharesLevelCustom, Shares: 300},
					}
				}
			}
			if card, is := device.(types.BaseVirtualEthernetCard); is && isFirst {
				card.GetVirtualEthernetCard().ResourceAllocation = &types.VirtualEthernetCardResourceAllocation{
					Limit:       types.NewInt64(100),
					Reservation: types.NewInt64(0),
					Share:       types.SharesInfo{Level: types.SharesLevelNormal, Shares: 50},
				}
			}
		}
	}
	for _, entity := range registry.All("Datastore") {
		entity.(*simulator.Datastore).IormConfiguration = &types.StorageIORMInfo{
			Enabled:                 true,
			CongestionThresholdMode: string(types.StorageIORMThresholdModeManual),
			CongestionThreshold:     20,
			PercentOfPeakThroughput: 90,
			StatsCollectionEnabled:  types.NewBool(true),
		}
	}
	for _, entity := range registry.All("StoragePod") {
		config := &entity.(*simulator.StoragePod).PodStorageDrsEntry.StorageDrsConfig.PodConfig
		config.DefaultVmBehavior = string(types.StorageDrsPodConfigInfoBehaviorAutomated)
		config.Rule = []types.BaseClusterRuleInfo{&types.ClusterAntiAffinityRuleSpec{
			ClusterRuleInfo: types.ClusterRuleInfo{Name: "never both", Enabled: types.NewBool(true)},
			Vm:              guests,
		}}
	}
	for _, entity := range registry.All("DistributedVirtualSwitch") {
		config := entity.(*simulator.DistributedVirtualSwitch).Config.GetDVSConfigInfo()
		config.InfrastructureTrafficResourceConfig = []types.DvsHostInfrastructureTrafficResource{{
			Key: "vmotion",
			AllocationInfo: types.DvsHostInfrastructureTrafficResourceAllocation{
				Limit:       types.NewInt64(-1),
				Shares:      &types.SharesInfo{Level: types.SharesLevelLow, Shares: 25},
				Reservation: types.NewInt64(250),
			},
		}}
	}
}

func main() {
	encrypted := flag.Bool("tls", false, "speak TLS")
	machines := flag.Int("machines", 2, "virtual machines")
	flag.Parse()
	log.SetOutput(os.Stderr)
	for _, counter := range vpx.PerfCounter {
		if counter.RollupType != types.PerfSummaryTypeAverage {
			continue
		}
		group := counter.GroupInfo.GetElementDescription().Key
		name := group + "." + counter.NameInfo.GetElementDescription().Key
		if value, known := ofGuest[name]; known {
			vpx.VmMetrics = append(vpx.VmMetrics, types.PerfMetricId{CounterId: counter.Key, Instance: disk})
			vpx.VmMetricData[counter.Key] = []int64{value}
		}
		if value, known := ofHost[name]; known {
			vpx.HostMetricData[counter.Key] = []int64{value}
		}
	}
	model := simulator.VPX()
	model.Host = 0
	model.ClusterHost = 2
	model.Machine = *machines
	model.Pod = 1
	if err := model.Create(); err != nil {
		log.Fatal(err)
	}
	registry := model.Map()
	own := registry.Get(*model.ServiceContent.PerfManager).(*simulator.PerformanceManager)
	registry.Put(&performance{own})
	set(registry)
	// Those of the documented configuration of Telegraf.
	model.Service.Listen = &url.URL{User: url.UserPassword("reader@vsphere.local", "...")}
	if *encrypted {
		model.Service.TLS = new(tls.Config)
	}
	server := model.Service.NewServer()
	fmt.Println(server.URL.Host)
	if *encrypted {
		file, err := server.CertificateFile()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(file)
	}
	select {}
}
