package main

import "fmt"

// reportPage adds the figures of the page; rates are pgbench's, empty where there is none.
func (b *bench) reportPage(all []*contestant, rates []float64) {
	by := map[string]*contestant{}
	for _, c := range all {
		by[c.name] = c
	}
	belfry := all[0]
	name := fmt.Sprintf("feed page of %d with badge, ", pageSize)
	cpu := func(a, b load) float64 { return a.cpuEach() / b.cpuEach() }
	rate := func(a, b load) float64 { return a.rate() / b.rate() }

	floor := by[floorName]
	b.measured(name+"CPU of the server process against the floor", ratio, compare(belfry, floor, cpu), goal{limit: 1.3, also: "; aim at 1.0"},
		between("%.3f ms", belfry, floor, load.cpuEach))
	if peer := by[peerName]; peer != nil {
		b.measured(name+"CPU against PostGraphile 5", ratio, compare(belfry, peer, cpu), atMost(0.3),
			between("%.3f ms", belfry, peer, load.cpuEach))
		b.measured(name+"requests a second against PostGraphile 5", ratio, compare(belfry, peer, rate), atLeast(3),
			between("%.0f/s", belfry, peer, load.rate))
	} else {
		b.report(name+"against PostGraphile 5", "no PostGraphile", "")
	}
	if len(rates) > 0 {
		var ratios []float64
		for i, r := range rates {
			ratios = append(ratios, belfry.loads[i].rate()/r)
		}
		b.measured(name+"requests a second against pgbench", ratio, ratios, atLeast(0.4),
			fmt.Sprintf("%.0f/s, %.0f/s", belfry.middle(load.rate), middle(rates)))
	} else {
		b.report(name+"requests a second against pgbench", "no pgbench", "")
	}
	if generated := by[generatedName]; generated != nil {
		b.measured(name+"CPU against "+generatedName, ratio, compare(belfry, generated, cpu), atMost(1),
			between("%.3f ms", belfry, generated, load.cpuEach))
	}
	for _, c := range all {
		p50 := c.middle(func(l load) float64 { return l.percentile(50) })
		p99 := c.middle(func(l load) float64 { return l.percentile(99) })
		b.report(fmt.Sprintf("the page by %s, %d connections", c.name, connections),
			fmt.Sprintf("%.0f/s, p50 %.1f ms, p99 %.1f ms, CPU %.3f ms", c.middle(load.rate), p50, p99, c.middle(load.cpuEach)), "")
	}
}

// middle returns the median of something of the contestant's loads.
func (c *contestant) middle(of func(load) float64) float64 {
	var values []float64
	for _, l := range c.loads {
		values = append(values, of(l))
	}
	return middle(values)
}

// compare compares the loads of each round.
func compare(a, b *contestant, with func(a, b load) float64) []float64 {
	var values []float64
	for i := range a.loads {
		values = append(values, with(a.loads[i], b.loads[i]))
	}
	return values
}

// between formats the medians of two contestants.
func between(format string, a, b *contestant, of func(load) float64) string {
	return fmt.Sprintf(format+", "+format, a.middle(of), b.middle(of))
}
