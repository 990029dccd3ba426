// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * Tells the class of a packet on an uplink by looking it up in maps.
 *
 * It is a filter of the HTB discipline itself (a classifier without direct
 * action): what it returns is the class, and 0 leaves the packet to the filters
 * behind it. It asks in this order, and the first that knows the packet decides:
 *
 *   workloads by firewall mark, control group, interface that the packet came in
 *   by, source address, source address inside of a tunnel that the host makes;
 *   then the host's own traffic by mark and control group.
 *
 * It does not change, drop or count packets. A control group is known only
 * where the packet still has its socket, which it loses on its way from another
 * network namespace.
 *
 * The agent fills the maps, freezes them and puts the program in; another
 * policy is another program in the same place, which the kernel exchanges at
 * once. By hand, with empty maps:
 *
 *   scripts/bpf
 *   tc qdisc add dev DEVICE root handle 51ce: htb default 2
 *   tc filter add dev DEVICE parent 51ce: protocol all pref 5 \
 *       bpf object-file enforcers/mechanisms/tc_htb/classify.bpf.o section tc
 *   tc filter del dev DEVICE parent 51ce: pref 5
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <stddef.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define MOST_MASKS 4
#define MOST_LEVELS 8
#define MOST_TAGS 2
#define WHOLE_ADDRESS 128
#define PROTOCOL_UDP 17
#define VXLAN_PORT 4789		/* RFC 7348 */
#define FIRST_VXLAN_PORT 8472	/* what Linux takes by itself */
#define GENEVE_PORT 6081	/* RFC 8926 */
#define TUNNEL_HEADER 8		/* of both; Geneve's options come after it */
#define BRIDGED 0x6558		/* Geneve: an Ethernet frame is inside */
#define IPV6_HEADER 40

enum owner { WORKLOADS, HOST, OWNERS };
enum sign { MARK, CGROUP, INTERFACE };

struct sign_key {
	__u32 owner;
	__u32 sign;
	__u64 value;
};

struct address_key {
	__u32 prefix_bits;
	__u8 address[16];	/* IPv4 as ::ffff:a.b.c.d (RFC 4291) */
};

/* Which signs the maps have, so that no packet is looked up for others. */
const volatile struct {
	/* Masks of marks, those that decide first in front; 0 ends them. */
	__u32 masks[OWNERS][MOST_MASKS];
	/* Depths of control groups below the root, deepest in front; 0 ends them. */
	__u32 levels[OWNERS][MOST_LEVELS];
	/* Whether a workload is told by an interface, or by an address: 0 or 1. */
	__u32 has_interfaces;
	__u32 has_addresses;
} tunables SEC(".rodata.tunables") = {};

/* Class numbers. The agent makes both maps as large as what it puts in. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct sign_key);
	__type(value, __u32);
} signs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct address_key);
	__type(value, __u32);
} addresses SEC(".maps");

static __always_inline __u32 by_sign(__u32 owner, __u32 sign, __u64 value)
{
	struct sign_key key = { .owner = owner, .sign = sign, .value = value };
	__u32 *class = bpf_map_lookup_elem(&signs, &key);

	return class ? *class : 0;
}

/* The key has the mask above the mark: 0x1/0x1 and 0x1/0xff are two signs. */
static __always_inline __u32 by_mark(struct __sk_buff *skb, __u32 owner)
{
	__u32 class, mask;

	for (int i = 0; i < MOST_MASKS; i++) {
		mask = tunables.masks[owner][i];
		if (!mask)
			break;
		class = by_sign(owner, MARK, (__u64)mask << 32 | (skb->mark & mask));
		if (class)
			return class;
	}
	return 0;
}

static __always_inline __u32 by_cgroup(struct __sk_buff *skb, __u32 owner)
{
	__u32 class, level;
	__u64 id;

	for (int i = 0; i < MOST_LEVELS; i++) {
		level = tunables.levels[owner][i];
		if (!level)
			break;
		id = bpf_skb_ancestor_cgroup_id(skb, level);
		class = id ? by_sign(owner, CGROUP, id) : 0;
		if (class)
			return class;
	}
	return 0;
}

/* Where an IP header is: so many bytes behind the beginning of this header. */
struct place {
	__u32 start, offset;
	__be16 protocol;
};

/*
 * Tags in the packet lie behind its Ethernet addresses; where the network
 * header is then, depends on who made it. A tag that the device adds itself is
 * not there.
 */
static __always_inline struct place ip_header(struct __sk_buff *skb)
{
	struct place place = { .start = BPF_HDR_START_NET, .protocol = skb->protocol };
	struct { __be16 tag, protocol; } vlan;

	for (int i = 0; i < MOST_TAGS; i++) {
		if (place.protocol != bpf_htons(ETH_P_8021Q) &&
		    place.protocol != bpf_htons(ETH_P_8021AD))
			break;
		if (!i) {
			place.start = BPF_HDR_START_MAC;
			place.offset = ETH_HLEN;
		}
		if (bpf_skb_load_bytes_relative(skb, place.offset, &vlan, sizeof(vlan), place.start))
			break;
		place.protocol = vlan.protocol;
		place.offset += sizeof(vlan);
	}
	return place;
}

/* The protocol of the packet inside; 0 if this is no VXLAN or Geneve. */
static __always_inline struct place inside(struct __sk_buff *skb, struct place ip)
{
	struct { __u8 options, flags; __be16 protocol; } geneve;
	struct { __be16 source, port; } udp;
	struct place none = { .protocol = 0 };
	__u8 head[10];

	if (bpf_skb_load_bytes_relative(skb, ip.offset, head, sizeof(head), ip.start))
		return none;
	if (ip.protocol == bpf_htons(ETH_P_IP)) {
		/* Only the first fragment has ports. */
		if (head[9] != PROTOCOL_UDP || head[6] & 0x1f || head[7])
			return none;
		ip.offset += (head[0] & 0xf) * 4;
	} else if (ip.protocol == bpf_htons(ETH_P_IPV6) && head[6] == PROTOCOL_UDP) {
		ip.offset += IPV6_HEADER;
	} else {
		return none;
	}
	if (bpf_skb_load_bytes_relative(skb, ip.offset, &udp, sizeof(udp), ip.start))
		return none;
	ip.offset += 8;
	ip.protocol = bpf_htons(BRIDGED);
	if (udp.port == bpf_htons(GENEVE_PORT)) {
		if (bpf_skb_load_bytes_relative(skb, ip.offset, &geneve, sizeof(geneve), ip.start))
			return none;
		ip.offset += (geneve.options & 0x3f) * 4;
		ip.protocol = geneve.protocol;
	} else if (udp.port != bpf_htons(VXLAN_PORT) && udp.port != bpf_htons(FIRST_VXLAN_PORT)) {
		return none;
	}
	ip.offset += TUNNEL_HEADER;
	if (ip.protocol == bpf_htons(BRIDGED)) {
		if (bpf_skb_load_bytes_relative(skb, ip.offset + ETH_HLEN - 2, &ip.protocol,
						sizeof(ip.protocol), ip.start))
			return none;
		ip.offset += ETH_HLEN;
	}
	return ip;
}

static __always_inline __u32 by_source_in(struct __sk_buff *skb, struct place ip)
{
	struct address_key key = { .prefix_bits = WHOLE_ADDRESS };
	__u32 *class;
	long error = -1;

	if (ip.protocol == bpf_htons(ETH_P_IP)) {
		key.address[10] = key.address[11] = 0xff;
		error = bpf_skb_load_bytes_relative(skb, ip.offset + offsetof(struct iphdr, saddr),
						    &key.address[12], 4, ip.start);
	} else if (ip.protocol == bpf_htons(ETH_P_IPV6)) {
		error = bpf_skb_load_bytes_relative(skb, ip.offset + offsetof(struct ipv6hdr, saddr),
						    key.address, 16, ip.start);
	}
	if (error)
		return 0;
	class = bpf_map_lookup_elem(&addresses, &key);
	return class ? *class : 0;
}

static __always_inline __u32 by_source(struct __sk_buff *skb)
{
	struct place ip = ip_header(skb);
	__u32 class = by_source_in(skb, ip);

	/*
	 * A packet that the host puts into a tunnel came in by no interface any
	 * more. Who makes a tunnel elsewhere can write any address into it.
	 */
	if (class || skb->ingress_ifindex)
		return class;
	return by_source_in(skb, inside(skb, ip));
}

SEC("tc")
int classify(struct __sk_buff *skb)
{
	__u32 class = by_mark(skb, WORKLOADS);

	if (!class)
		class = by_cgroup(skb, WORKLOADS);
	if (!class && tunables.has_interfaces && skb->ingress_ifindex)
		class = by_sign(WORKLOADS, INTERFACE, skb->ingress_ifindex);
	if (!class && tunables.has_addresses)
		class = by_source(skb);
	if (!class)
		class = by_mark(skb, HOST);
	if (!class)
		class = by_cgroup(skb, HOST);
	return class;
}

char _license[] SEC("license") = "GPL";
