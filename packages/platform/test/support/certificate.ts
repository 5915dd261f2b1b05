import { Effect } from "effect"
import { generate } from "selfsigned"

export interface Certificate {
  readonly key: string
  readonly cert: string
}

let made: Promise<Certificate> | undefined

const make = async (): Promise<Certificate> => {
  const { private: key, cert } = await generate([{ name: "commonName", value: "127.0.0.1" }], {
    keyType: "ec",
    extensions: [{ name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] }]
  })
  return { key, cert }
}

/** A certificate of its own for 127.0.0.1, made once in each test file. */
export const certificate: Effect.Effect<Certificate> = Effect.promise(() => {
  made ??= make()
  return made
})
