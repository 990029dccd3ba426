// A vCenter of govmomi's simulator with two hosts and two virtual machines.
//
// The simulator's virtual disks have no instances and no latencies: they are given those of one disk.
// And it answers a question about every instance of a counter with one that is called "*": a real
// vCenter answers with each.
// It prints its address and goes on until it is stopped.
package main

import (
	"fmt"
	"log"
	"os"

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

func main() {
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
	model.Machine = 2
	if err := model.Create(); err != nil {
		log.Fatal(err)
	}
	registry := model.Map()
	own := registry.Get(*model.ServiceContent.PerfManager).(*simulator.PerformanceManager)
	registry.Put(&performance{own})
	server := model.Service.NewServer()
	fmt.Println(server.URL.Host)
	select {}
}
