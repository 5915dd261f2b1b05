/** What a format is: how it is recognised, and what it makes of a text. */
import type { Take } from "./split.js"
import type { Unit } from "./unit.js"
import type { Condition } from "./where.js"

/** What a user says about a record; undefined leaves it to the format. */
export interface Ask {
  readonly format: string | undefined
  readonly column: string | undefined
  readonly unit: Unit | undefined
  readonly key: string | undefined
  /** The column with the latency of a second copy, sent at the same time. */
  readonly pair: string | undefined
  readonly where: ReadonlyArray<Condition>
  /** Whether calls without an answer count too. */
  readonly all: boolean
}

/** The beginning of a record. */
export interface Head {
  readonly text: string
  /** Its lines that are not blank, at most 100, without a last one that may be cut off. */
  readonly lines: ReadonlyArray<string>
}

/** One call, or several of the same kind, as a record describes them. */
export interface Row {
  /** What the record says under this name; undefined if nothing. */
  readonly field: (name: string) => unknown
  /** The HTTP status, 0 for no answer; undefined if the record says nothing. */
  readonly status?: number | undefined
  /** Why there is no answer, of a call that failed without a status that says so. */
  readonly failure?: string | undefined
  /** When it was, in whatever unit; only the order counts. */
  readonly at?: number | undefined
  /** What was called: method and path, a label, a host. */
  readonly route?: (() => string | undefined) | undefined
  /** Which of a record's measurements it belongs to, if there are several; one of them is used. */
  readonly series?: string | undefined
}

/** So many latencies between two, in milliseconds; all the same if these are equal. */
export interface Piece {
  readonly from: number
  readonly to: number
  readonly count: number
}

/** Where a format puts what it finds. */
export interface Sink {
  /** A call, whose latency is what its row says under the name of the column. */
  readonly row: (row: Row, text: string, number: number) => void
  /** Many calls of one kind. */
  readonly counted: (row: Row, pieces: ReadonlyArray<Piece>) => void
  /** Something that is no latency: what it is instead. */
  readonly skip: (what: string, text: string, number: number) => void
}

/** Which values are read. */
export interface Column {
  readonly name: string
  readonly unit: Unit
  /** Nothing said what the unit is. */
  readonly isAssumed?: boolean
  /** Others that could have been meant. */
  readonly others?: ReadonlyArray<string>
}

/** A record being read. */
export interface Reading {
  /** What it is, for people. */
  readonly title: string
  readonly split: "lines" | "jsonValues" | "whole"
  readonly column: Column
  readonly take: Take
  /** After the last piece. */
  readonly end?: () => void
  /** Of several series, those it prefers, in order; without it the first that was found is used. */
  readonly prefers?: (series: ReadonlyArray<string>) => ReadonlyArray<string>
  /** What a user should know about the figures of the series that is used. */
  readonly notes?: (series: string) => ReadonlyArray<string>
}

export interface Format {
  /** As `--format` takes it. */
  readonly name: string
  readonly recognise: (head: Head) => boolean
  /** May throw `OptionError`, or `NoLatency`. */
  readonly open: (head: Head, ask: Ask, sink: Sink) => Reading
}

/** Thrown for a record of a known format that holds no latency. */
export class NoLatency extends Error {}

const mostLines = 100

export const headOf = (text: string): Head => {
  const lines = text.split(/\r?\n/)
  // the head may end in the middle of a line
  if (lines.length > 1) lines.pop()
  return { text, lines: lines.filter((line) => line.trim() !== "").slice(0, mostLines) }
}

/** Whether most of a head's lines are of this kind; some may be anything, a banner or a stack trace. */
export const mostLinesAre = (head: Head, isOne: (line: string) => boolean): boolean =>
  head.lines.filter(isOne).length * 2 > head.lines.length
