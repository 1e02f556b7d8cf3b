"""What can be chosen: models, the default, skills, and whether the tour stands in for a model (design §2, R44).

A probe process reads Hermes' own files under Hermes' interpreter, with the network refused. Its answer is kept until one of
those files changes. The interpreter is looked for each time, so what ``jupyter hermes-chat setup`` has just made is found.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from ..protocol.bridge import Inventory, ModelConfig
from ..protocol.errors import HermesChatError, HermesIncompatible, NotConfigured, error_types
from ..protocol.records import ErrorBody, ModelItem, SkillItem
from .environment import (
    TOUR_PROVIDER,
    administrator_folder,
    probe_command,
    worker_environment,
    write_managed_config,
    write_tour_home,
)
from .locate import find_interpreter
from .pool import Setting
from .process import kill_tree
from .tour_endpoint import TourEndpoint

PROBE_SECONDS = 60.0

TourMode = Literal["auto", "always", "never"]


class _Provider(Struct):
    slug: str
    name: str | None = None
    models: list[str] = []
    context_lengths: dict[str, int] = msgspec.field(name="contextLengths", default_factory=dict)


class _Skill(Struct):
    name: str
    description: str | None = None
    category: str | None = None


class _Default(Struct):
    provider: str | None = None
    model: str | None = None


class _Found(Struct):
    """The probe's one line."""

    configured: bool = False
    default: _Default | None = None
    providers: list[_Provider] = []
    skills: list[_Skill] = []
    hermes: str | None = None
    problem: ErrorBody | None = None


class InventoryReader:
    """*configured_python* and *hermes_home* are what the Bridge was started with; *tour_folder* is the tour's Hermes home."""

    def __init__(
        self,
        *,
        configured_python: str | None,
        hermes_home: str | None,
        managed_dir: Path,
        tour: TourEndpoint,
        tour_folder: Path,
        mode: TourMode,
    ) -> None:
        self._configured_python = configured_python
        self._hermes_home = hermes_home
        self._managed_dir = managed_dir
        self._tour = tour
        self._tour_folder = tour_folder
        self._mode = mode
        self._lock = asyncio.Lock()
        self._kept: dict[Setting, tuple[object, _Found]] = {}
        self.interpreter: str | None = None

    async def read(self) -> Inventory:
        """What can be chosen now. What stands in the way (no Hermes, a broken one) is ``problem``, never an exception."""
        tour = False
        try:
            real = self._setting(self._hermes_home)
            found = await self._probe(real)
            tour = self._tours(found)
            if tour:
                configured = found.configured
                found = await self._probe(await self._tour_setting(real.interpreter))
                found.configured = configured
        except HermesChatError as error:
            problem = ErrorBody(code=error.code, message=error.message)
            return Inventory(configured=False, tour=tour, default=ModelConfig(), models=[], skills=[], hermes=None, problem=problem)
        default = found.default or _Default()
        return Inventory(
            configured=found.configured,
            tour=tour,
            default=ModelConfig(provider=default.provider, model=default.model),
            models=[
                ModelItem(
                    id=f"{p.slug}/{m}",
                    provider=p.slug,
                    model=m,
                    name=f"{p.name or p.slug} ({m})",
                    context_length=p.context_lengths.get(m),
                )
                for p in found.providers
                for m in p.models
            ],
            skills=[
                SkillItem(folder=s.name, name=s.name, description=s.description or "", category=s.category or "")
                for s in found.skills
            ],
            hermes=found.hermes,
        )

    async def setting(self, provider: str | None, hermes_home: str | None) -> Setting:
        """What a run with this model and home needs. An empty provider follows the default: a model, else the tour.

        ``HermesNotFound`` without an interpreter, ``NotConfigured`` where the tour is meant and switched off.
        """
        real = self._setting(hermes_home or self._hermes_home)
        if provider == TOUR_PROVIDER:
            if self._mode == "never":
                raise NotConfigured("The tour is switched off (HERMES_CHAT_TOUR=never). Choose another model for this session.")
            return await self._tour_setting(real.interpreter)
        if self._mode == "never" or provider or not self._tours(await self._probe(real)):
            return real
        return await self._tour_setting(real.interpreter)

    def _tours(self, found: _Found) -> bool:
        """Whether the tour stands in where nobody chose a model."""
        return self._mode == "always" or (self._mode == "auto" and not found.configured)

    def _setting(self, hermes_home: str | None) -> Setting:
        interpreter = find_interpreter(self._configured_python)
        self.interpreter = os.fspath(interpreter)
        return Setting(interpreter=interpreter, hermes_home=hermes_home, tour_url=None)

    async def _tour_setting(self, interpreter: Path) -> Setting:
        url = await self._tour.url()
        write_tour_home(self._tour_folder, url)
        return Setting(interpreter=interpreter, hermes_home=os.fspath(self._tour_folder), tour_url=url)

    async def _probe(self, setting: Setting) -> _Found:
        async with self._lock:
            state = await asyncio.to_thread(_state, setting)  # 10 ms, since a home has hundreds of skill files
            kept = self._kept.get(setting)
            if kept is None or kept[0] != state:
                # With the state before: what changes while the probe looks, also by its own hand, is looked at again.
                self._kept[setting] = kept = (state, await self._run_probe(setting))
            return msgspec.structs.replace(kept[1])

    async def _run_probe(self, setting: Setting) -> _Found:
        environment = worker_environment(
            os.environ,
            hermes_home=setting.hermes_home,
            managed_dir=write_managed_config(self._managed_dir, administrator_folder(os.environ)),
            working_dir=None,
            tour=setting.tour,
        )
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *probe_command(setting.interpreter),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=pipe,
                stderr=asyncio.subprocess.DEVNULL,
                env=environment,
                cwd=self._managed_dir,
            )
        except OSError as error:
            raise HermesIncompatible(f"{setting.interpreter} cannot be run: {error.strerror}.") from error
        try:
            out, _ = await asyncio.wait_for(process.communicate(), PROBE_SECONDS)
        except TimeoutError as error:
            await asyncio.to_thread(kill_tree, process.pid)
            await process.wait()
            raise HermesIncompatible(f"Hermes Agent did not say what it has within {PROBE_SECONDS:.0f} s.") from error
        try:
            found = msgspec.json.decode(out, type=_Found)
        except msgspec.DecodeError as error:
            raise HermesIncompatible(f"{setting.interpreter} has no Hermes Agent that this version works with.") from error
        if found.problem is not None:
            raise error_types().get(found.problem.code, HermesIncompatible)(found.problem.message)
        return found


def _state(setting: Setting) -> list[tuple[str, int, int]]:
    """Name, time and size of every file that the probe's answer depends on."""
    home = Path(setting.hermes_home or os.environ.get("HERMES_HOME") or Path.home() / ".hermes")
    packages = setting.interpreter.parent.parent / "lib"
    files = [home / name for name in ("config.yaml", ".env", "auth.json", "skills")]
    files += sorted((home / "skills").rglob("SKILL.md"))
    files += sorted(packages.glob("python*/site-packages"))
    state = []
    for file in files:
        with contextlib.suppress(OSError):
            found = file.stat()
            state.append((os.fspath(file), found.st_mtime_ns, found.st_size))
    return state
