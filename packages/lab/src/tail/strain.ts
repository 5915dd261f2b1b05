/** Whether the machine was up to the measurement: how late a process's event loop was, and how busy the processors. */
import { cpus } from "node:os"
import { now } from "../clock.js"
import { medianOf } from "../median.js"
import type { Side } from "./settings.js"

export interface Strain {
  /** Of the time that was watched, the share in which the event loop was stuck. */
  readonly stuckShare: number
  /** The longest that it was stuck at a time, in milliseconds. */
  readonly longestMs: number
  /** Of one processor, the share that the process used. */
  readonly cpuShare: number
  /** Of all processors of the machine, the share in use, whoever used them. */
  readonly machineShare: number
}

const beatMs = 10
/** Less is usual even on an idle machine. */
const graceMs = 10

/** Watches this process from now on; what it returns says how it has gone since and ends the watch. */
export const watch = (): (() => Strain) => {
  const startedAt = now()
  const startedCpu = process.cpuUsage()
  const startedTimes = machineTimes()
  let stuckMs = 0
  let longestMs = 0
  let last = startedAt
  const beat = () => {
    const at = now()
    const late = at - last - beatMs
    last = at
    if (late <= graceMs) return
    stuckMs += late
    longestMs = Math.max(longestMs, late)
  }
  const timer = setInterval(beat, beatMs).unref()
  return () => {
    clearInterval(timer)
    beat()
    const elapsed = now() - startedAt
    const { system, user } = process.cpuUsage(startedCpu)
    const times = machineTimes()
    const total = times.total - startedTimes.total
    return {
      stuckShare: stuckMs / elapsed,
      longestMs,
      cpuShare: (system + user) / 1_000 / elapsed,
      machineShare: total === 0 ? 0 : 1 - (times.idle - startedTimes.idle) / total
    }
  }
}

const machineTimes = () => {
  let idle = 0
  let total = 0
  for (const { times } of cpus()) {
    idle += times.idle
    total += times.user + times.nice + times.sys + times.idle + times.irq
  }
  return { idle, total }
}

/** Of several rounds, what was usual. */
export const medianStrain = (rounds: ReadonlyArray<Strain>): Strain => {
  const median = (f: (strain: Strain) => number) => medianOf(rounds.map(f)) ?? 0
  return {
    stuckShare: median((strain) => strain.stuckShare),
    longestMs: median((strain) => strain.longestMs),
    cpuShare: median((strain) => strain.cpuShare),
    machineShare: median((strain) => strain.machineShare)
  }
}

/** From here on figures say something of the machine as well. */
const tooMuch = { stuckShare: 0.02, cpuShare: 0.9, machineShare: 0.9 }

/** What was too busy, in words. */
export const busy = (sides: Readonly<Record<Side, Strained>>): ReadonlyArray<string> =>
  (["plain", "hedged"] as const).flatMap((side) => {
    const { client, server } = sides[side]
    return [
      ...ofProcess(`the ${side} client`, client),
      ...(server === null ? [] : ofProcess(`the ${side} side's server`, server)),
      ...(client.machineShare < tooMuch.machineShare
        ? []
        : [`the machine's processors were ${percent(client.machineShare)} busy during the ${side} side`])
    ]
  })

interface Strained {
  readonly client: Strain
  readonly server: Strain | null
}

/** What of a process was too busy, in words. */
export const ofProcess = (
  name: string,
  { cpuShare, longestMs, stuckShare }: Strain
): ReadonlyArray<string> => [
  ...(stuckShare < tooMuch.stuckShare
    ? []
    : [
        `the event loop of ${name} was stuck for ${percent(stuckShare)} of the time, up to ${Math.round(longestMs)} ms at once`
      ]),
  ...(cpuShare < tooMuch.cpuShare ? [] : [`${name} used ${percent(cpuShare)} of a processor`])
]

const percent = (share: number): string => `${Math.round(share * 100)} %`
