"""`brb status` and `brb doctor`: how BRB is."""

import typer

from services.cli import options, output


def shown(as_json: options.Json = False) -> None:
    """Show how BRB is: 0 all well, 1 degraded (calls still go through), 3 not running."""
    with options.connected() as brb:
        health = brb.health()
        address = brb.base_url
    if as_json:
        output.json(health)
    else:
        output.line(f"BRB {health.version} at {address}: {health.status}")
        rows = [[name, r.state, f"{r.milliseconds:.0f}", r.reason] for name, r in health.dependencies.items()]
        output.table(["dependency", "state", "#ms", "reason"], rows)
        waiting = sum(health.pending.values()) + health.spooled
        output.line(f"{'?' if health.memories is None else health.memories} memories, {waiting} jobs waiting")
        for notice in health.notices:
            output.note(notice)
    if health.status != "ok":
        raise typer.Exit(1)


def examined(as_json: options.Json = False) -> None:
    """Try everything that BRB needs: 0 all well (or only warnings), 1 something is broken."""
    from services.cli import doctor
    from services.core import config

    findings = []
    for finding in doctor.findings_of(config.load()):
        findings.append(finding)
        if not as_json:
            output.line(f"{finding.state:<4}  {finding.check}: {finding.found}" + (f" → {finding.cure}" if finding.cure else ""))
    if as_json:
        output.json(findings)
    if any(finding.state is doctor.State.FAIL for finding in findings):
        raise typer.Exit(1)
