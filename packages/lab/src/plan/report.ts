/** A plan: what was read, what hedging would do for it, and what to think of that. */

import { togetherness } from "./dependence.js"
import * as Evidence from "./evidence.js"
import type { Settings } from "./options.js"
import * as Paste from "./paste.js"
import * as Plan from "./plan.js"
import type { Measured } from "./read.js"
import type { Group } from "./samples.js"
import { type Verdict, verdict } from "./verdict.js"
import * as Warnings from "./warnings.js"

/** For all calls, or for those of one key. */
export interface Part {
  readonly key: string | undefined
  readonly evidence: Evidence.Evidence
  readonly outlook: Plan.Outlook
  readonly verdict: Verdict
  readonly policy: Paste.Code | null
  readonly warnings: ReadonlyArray<string>
}

export interface Report {
  readonly measured: Measured
  readonly settings: Settings
  readonly whole: Part
  /** By `--key`, those with most calls first. */
  readonly keys: ReadonlyArray<Part>
  /** Keys that there was no room for. */
  readonly moreKeys: number
}

const mostKeys = 20

export const make = (measured: Measured, settings: Settings): Report => {
  const isKeyed = settings.ask.key !== undefined
  const isMixed = Warnings.mixedRoutes(measured) !== undefined
  const whole = partOf(measured.all, settings, isMixed)
  const shown = isKeyed ? measured.byKey.slice(0, mostKeys) : []
  return {
    measured,
    settings,
    whole: { ...whole, warnings: [...Warnings.ofRecord(measured, isKeyed), ...whole.warnings] },
    keys: shown.map((group) => partOf(group, settings, false)),
    moreKeys: isKeyed ? measured.keyCount - shown.length : 0
  }
}

const partOf = (group: Group, { goals }: Settings, isMixed: boolean): Part => {
  const together = togetherness(group)
  const isPaired = group.ordered?.seconds !== undefined
  const evidence = isPaired
    ? Evidence.paired(group, together.effective)
    : Evidence.independent(group.distribution, together.effective)
  const outlook = Plan.outlook(evidence, goals)
  const decided = verdict(outlook, goals, together, group, { isMixed, isPaired })
  return {
    key: group.key,
    evidence,
    outlook,
    verdict: decided,
    policy: decided.row === undefined ? null : Paste.code(decided.row, goals.objective, isPaired),
    warnings: Warnings.ofGroup(group, evidence, together, outlook, goals)
  }
}
