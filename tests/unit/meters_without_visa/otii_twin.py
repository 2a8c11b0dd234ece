"""A scripted Otii program: the objects that the driver uses, and the same behind its TCP protocol (lines of JSON)."""

from __future__ import annotations

import json
import socketserver
import threading
from typing import Any

import numpy as np
from wired import PS

from hil.standins.virtual.meter.truth import ScriptedTrace, VirtualTime, mean_current

RATES = {"mc": 4000, "mv": 1000}
DEVICE = "Arc0123456789"


class ScriptedOtii:
    """Server, project, instrument and recording in one: it has one of each."""

    id, name, type = DEVICE, "Bench", "Arc"

    def __init__(self, time: VirtualTime, truth: ScriptedTrace) -> None:
        self.time, self.truth = time, truth
        self.said: list[str] = []
        self.begin_ps: int | None = None
        self.end_ps: int | None = None
        self.refuse = ""

    def _say(self, *words: object) -> None:
        line = " ".join(map(str, words))
        self.said.append(line)
        if self.refuse and self.refuse in line:
            raise RuntimeError("Command failure")

    def get_devices(self) -> list[ScriptedOtii]:
        return [self]

    def create_project(self) -> ScriptedOtii:
        return self

    def disconnect(self) -> None:
        self._say("disconnect")

    def add_to_project(self) -> None:
        self._say("add")

    def set_main_voltage(self, value: float) -> None:
        self._say("volt", value)

    def set_range(self, arange: Any) -> None:
        self._say("range", arange)

    def enable_channel(self, channel: str, enable: bool) -> None:
        self._say("enable", channel, enable)

    def set_channel_samplerate(self, channel: str, value: int) -> None:
        self._say("rate", channel, value)

    def set_main(self, enable: bool) -> None:
        self._say("main", enable)

    def start_recording(self) -> None:
        self.begin_ps, self.end_ps = self.time.ps, None

    def stop_recording(self) -> None:
        self.end_ps = self.time.ps

    def get_last_recording(self) -> ScriptedOtii | None:
        return None if self.begin_ps is None else self

    def delete(self) -> None:
        self._say("delete")

    def _now(self) -> int:
        return self.time.ps if self.end_ps is None else self.end_ps

    def _edges(self) -> list[dict[str, Any]]:
        assert self.begin_ps is not None
        told = [{"timestamp": 0.0, "value": False}]
        return told + [
            {"timestamp": round((at - self.begin_ps) / PS, 6), "value": bool(level)}
            for at, level in self.truth._edges
            if self.begin_ps < at <= self._now()
        ]

    def get_channel_data_count(self, device_id: str, channel: str) -> int:
        assert device_id == DEVICE and self.begin_ps is not None
        if channel == "i1":
            return len(self._edges())
        return (self._now() - self.begin_ps) * RATES[channel] // PS

    def get_channel_data(self, device_id: str, channel: str, index: int, count: int) -> dict[str, Any]:
        assert device_id == DEVICE and self.begin_ps is not None
        if channel == "i1":
            return {"data_type": "digital", "values": self._edges()[index : index + count]}
        length = PS // RATES[channel]
        begins = self.begin_ps + length * np.arange(index, index + count)
        values = mean_current(self.truth, begins, length) if channel == "mc" else np.full(count, self.truth.volt())
        return {
            "data_type": "analog",
            "timestamp": index / RATES[channel],
            "interval": 1 / RATES[channel],
            "values": values.tolist(),
        }


class OtiiServer:
    """Serves a scripted Otii on a loopback port, as the real program does on port 1905."""

    def __init__(self, otii: ScriptedOtii) -> None:
        answers = _Answers(otii)

        class Session(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                hello = {
                    "type": "information",
                    "info": "connected",
                    "data": {"otii_version": "3.5", "protocol_version": "0.1", "server": "scripted"},
                }
                self.wfile.write(json.dumps(hello).encode() + b"\r\n")
                for line in self.rfile:
                    self.wfile.write(json.dumps(answers.to(json.loads(line))).encode() + b"\r\n")

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Session)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Answers:
    def __init__(self, otii: ScriptedOtii) -> None:
        device = {"device_id": DEVICE, "name": otii.name, "type": otii.type}
        licence = {"id": 7, "type": "Automation", "available": True, "reserved_to": ""}
        recording = {"recording_id": 3, "name": "Recording 1"}
        self.commands: dict[str, Any] = {
            "otii_is_logged_in": lambda _: {"logged_in": True}, "otii_get_licenses": lambda _: {"licenses": [licence]},
            "otii_reserve_license": lambda _: {}, "otii_return_license": lambda _: otii.disconnect() or {},
            "otii_get_devices": lambda _: {"devices": [device]}, "otii_create_project": lambda _: {"project_id": 1},
            "arc_add_to_project": lambda _: otii.add_to_project() or {},
            "arc_set_main_voltage": lambda d: otii.set_main_voltage(d["value"]) or {}, "arc_set_range": lambda d: otii.set_range(d["range"]) or {},
            "arc_enable_channel": lambda d: otii.enable_channel(d["channel"], d["enable"]) or {}, "arc_set_main": lambda d: otii.set_main(d["enable"]) or {},
            "project_start_recording": lambda _: otii.start_recording() or {}, "project_stop_recording": lambda _: otii.stop_recording() or {},
            "project_get_last_recording": lambda _: recording, "recording_delete": lambda _: otii.delete() or {},
            "recording_get_channel_data_count": lambda d: {"count": otii.get_channel_data_count(d["device_id"], d["channel"])},
            "recording_get_channel_data": lambda d: otii.get_channel_data(d["device_id"], d["channel"], d["index"], d["count"]),
        }  # fmt: skip

    def to(self, request: dict[str, Any]) -> dict[str, Any]:
        answer = {"type": "response", "cmd": request["cmd"], "trans_id": request["trans_id"]}
        try:
            return answer | {"data": self.commands[request["cmd"]](request.get("data", {}))}
        except RuntimeError as error:
            return answer | {"type": "error", "errorcode": "Command failure", "data": {"message": str(error)}}
