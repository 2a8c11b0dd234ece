"""A USB cable at full or high speed: what travels on it, and a strict host at its other end.

`wire` has the packets and the interface of a device controller; `host` is the bus in virtual time with its `channel`s,
`control` and `enumeration` what a host asks a new device, `descriptors` the checks of what it answers, `cdc` the serial
port that a CDC ACM device becomes, `session` the computer with one port, `serial_ports`, `terminal` and `boot_drive`
what programs see of it, `bad_host` what a host does that is not well.

Source: Universal Serial Bus Specification, revision 2.0 (cited as USB 2.0), and the class definitions for
communications devices 1.2 (CDC) with their subclass PSTN 1.2.
"""
