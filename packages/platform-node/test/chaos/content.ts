/** What is sent to and fro, known to both ends by a seed and a length. */
import { Random } from "./random.js"

export const mostBytes = 5 * 1024 * 1024
/** Seeds of contents are whole numbers from 0 and below this. */
export const contents = 4

const made = new Map<number, Buffer>()

const make = (seed: number): Buffer => {
  const random = new Random(seed)
  const bytes = Buffer.alloc(mostBytes)
  for (let at = 0; at < mostBytes; at += 4) bytes.writeUInt32LE(Math.floor(random.next() * 2 ** 32), at)
  return bytes
}

/** The first bytes of an endless number of them. */
export const bytesOf = (seed: number, length: number): Buffer => {
  const known = made.get(seed)
  if (known !== undefined) return known.subarray(0, length)
  made.set(seed, make(seed))
  return bytesOf(seed, length)
}

/** Server-sent events, one after the other. */
export const eventsOf = (seed: number, count: number): ReadonlyArray<string> => {
  const random = new Random(seed)
  return Array.from(
    { length: count },
    (_, i) => `id: ${i}\ndata: ${"word ".repeat(random.between(1, 200))}\n\n`
  )
}
