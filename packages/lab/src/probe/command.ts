/** `hedge-lab probe`: what can be learned of an upstream from one connection to each of its addresses. */
import { Args, Command, HelpDoc, Options } from "@effect/cli"
import { Console, Data, Effect } from "effect"
import { declare } from "../words.js"
import type { Finding } from "./findings.js"
import * as Look from "./look.js"
import * as ProbeOptions from "./options.js"
import * as Table from "./table.js"

/** No address of the upstream has answered. */
export class UnreachableError extends Data.TaggedError("UnreachableError")<{
  readonly url: string
  readonly problems: ReadonlyArray<string>
}> {
  override get message(): string {
    return `${this.url}: no answer (${this.problems.join("; ")})`
  }
}

/** Read as text, so that every wrong value is refused in the same words; `options.ts` says what is allowed. */
const text = (name: string, pseudoName: string, description: string) =>
  Options.text(name).pipe(Options.withPseudoName(pseudoName), Options.withDescription(description))

const value = (name: string, pseudoName: string, description: string) =>
  text(name, pseudoName, description).pipe(Options.optional)

const options = {
  address: value("address", "ip", "Ask this address only. Default: each that the name resolves to."),
  header: text(
    "header",
    "name:value",
    "Send this header, too. May be given several times; none is shown."
  ).pipe(Options.repeated),
  protocol: value(
    "protocol",
    "name",
    "h2, http/1.1, or auto: what TLS agrees on, and http/1.1 without TLS. Default auto."
  ),
  pings: value("pings", "n", "PINGs on an HTTP/2 connection. Default 5."),
  timeout: value("timeout", "duration", "How long an address may take, all phases together. Default 10s."),
  insecure: Options.boolean("insecure").pipe(
    Options.withDescription("Go on with a certificate that does not prove who the server is.")
  ),
  json: Options.boolean("json").pipe(Options.withDescription("Print one JSON document and nothing else."))
}

/** The options by the names under which they are typed. */
export const declared = declare(options)

const url = Args.text({ name: "url" }).pipe(
  Args.withDescription("What to GET. A user and a password in it are sent, and not shown.")
)

export const command = Command.make("probe", { url, ...options }, ({ json, ...raw }) =>
  Effect.gen(function* () {
    const settings = yield* ProbeOptions.settings(raw)
    const finding = yield* Look.look(settings)
    yield* Console.log(json ? JSON.stringify(finding, rounded, 2) : Table.render(finding))
    yield* reached(finding)
  })
).pipe(
  Command.withDescription(
    HelpDoc.p(
      "Asks an upstream of yours once at each of its addresses, and shows what took how long, what the server allows on an HTTP/2 connection, whether it keeps the connection, and what the system thinks of it. Fails if no address answers."
    )
  )
)

const rounded = (_: string, value: unknown): unknown =>
  typeof value === "number" ? Math.round(value * 1_000) / 1_000 : value

const reached = ({ addresses, failure, url }: Finding): Effect.Effect<void, UnreachableError> =>
  addresses.some(({ answer }) => answer !== null)
    ? Effect.void
    : new UnreachableError({
        url,
        problems: failure === null ? addresses.flatMap(Table.problems) : [Table.inWords(failure)]
      })
