/** Records for tests: from a text, or from the files beside. */
import { Readable } from "node:stream"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import type { Ask } from "../../src/plan/format.js"
import { type Measured, read, readSource } from "../../src/plan/read.js"
import { fromBytes } from "../../src/plan/source.js"
import { parse } from "../../src/plan/where.js"

export type Asked = Partial<Omit<Ask, "where">> & { readonly where?: ReadonlyArray<string> }

export const ask = ({ where = [], ...asked }: Asked = {}): Ask => ({
  format: undefined,
  column: undefined,
  unit: undefined,
  key: undefined,
  pair: undefined,
  all: false,
  ...asked,
  where: where.map((condition) => parse(condition)!)
})

export const readText = async (text: string | Buffer, asked: Asked = {}): Promise<Measured> =>
  readSource(await fromBytes("a.log", Readable.from([Buffer.from(text)])), ask(asked))

export const dataFile = (name: string): string => fileURLToPath(new URL(`data/${name}.gz`, import.meta.url))

export const readData = (name: string, asked: Asked = {}): Promise<Measured> =>
  Effect.runPromise(read(dataFile(name), ask(asked)))

/** Why it cannot be read. */
export const refusal = (text: string | Buffer, asked: Asked = {}): Promise<string> =>
  readText(text, asked).then(
    () => "",
    (error: Error) => error.message
  )

export const percentilesOf = ({ all: { distribution } }: Measured): ReadonlyArray<number> => [
  distribution.n,
  ...[0.5, 0.95, 0.99].map(distribution.quantile)
]

/** Every latency, in the order of time. */
export const latenciesOf = ({ all: { ordered } }: Measured): ReadonlyArray<number> =>
  Array.from(ordered?.values ?? [])
