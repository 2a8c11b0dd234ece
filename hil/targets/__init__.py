"""Flash routes, debug probes, serial ports and power switches. `hil.dut` makes a board live with them."""
