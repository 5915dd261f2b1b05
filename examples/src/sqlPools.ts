/**
 * SQL over two pools of connections. A read goes to the primary and, when that is late, to the replica too; a write and all that a transaction
 * holds go to the primary, once. What becomes of a query that has lost is the driver's affair: mysql2 lets it run to its end, and until then its
 * connection is not back in its pool.
 */
import { type AddressInfo, createServer, type Socket } from "node:net"
import { setTimeout } from "node:timers/promises"
import { Reactivity } from "@effect/experimental"
import { SqlClient } from "@effect/sql"
import { MysqlClient } from "@effect/sql-mysql2"
import { Context, Effect, Layer } from "effect"
import { Hedge, HedgePolicy, HedgeSchedule } from "effect-hedge"
import * as Mysql from "mysql2"

class Primary extends Context.Tag("app/Primary")<Primary, SqlClient.SqlClient>() {}
class Replica extends Context.Tag("app/Replica")<Replica, SqlClient.SqlClient>() {}

/** A pool of one connection, so that a query shows whether the one before it has returned it. */
const pool = <I>(tag: Context.Tag<I, SqlClient.SqlClient>, port: number) =>
  Layer.scoped(tag, MysqlClient.make({ host: "127.0.0.1", port, maxConnections: 1 })).pipe(
    Layer.provide(Reactivity.layer)
  )

/** Runs a query that only reads, each attempt on the other pool. */
const read = <A, E, R>(query: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const pools = [yield* Primary, yield* Replica]
    const policy = yield* HedgePolicy.DefaultPolicy
    return yield* Hedge.hedgeWith(
      ({ index }) => Effect.provideService(query, SqlClient.SqlClient, pools[index % pools.length]!),
      policy
    )
  })

/** Runs a query that writes: on the primary, once, whatever `read` may be in it. */
const write = <A, E, R>(query: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Primary, (sql) =>
    Hedge.withoutHedging(Effect.provideService(query, SqlClient.SqlClient, sql))
  )

/**
 * Runs in a transaction of the primary. A `read` in it is one attempt, on the transaction's own connection: another pool has other data, and a
 * query that loses on this connection would still be at work on it when the next one comes.
 */
const transact = <A, E, R>(body: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Primary, (sql) => sql.withTransaction(write(body)))

const select = (item: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    // the server below prepares no statements
    const rows = yield* sql<{ server: string }>`SELECT * FROM stock WHERE item = ${item}`.unprepared
    return rows[0]?.server
  })

const take = (item: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`UPDATE stock SET count = count - 1 WHERE item = ${item}`.unprepared
  })

/** A server that speaks MySQL's protocol. It answers every query with its name. */
class Server {
  readonly queries: Array<string> = []
  running = 0

  /** @param takes how long it takes to answer a query, by its number. */
  constructor(
    private readonly name: string,
    private readonly takes: (query: number) => Promise<void>
  ) {}

  readonly listener = (stream: Socket): void => {
    const connection = Mysql.createConnection({ stream, isServer: true })
    connection.on("query", (sql: string) => this.answer(connection, sql))
    // the client has hung up
    connection.on("error", () => {})
    connection.serverHandshake({
      protocolVersion: 10,
      serverVersion: "8.0.0",
      connectionId: 1,
      statusFlags: 2,
      characterSet: 45,
      capabilityFlags: 0xffffff,
      authCallback: (_client: unknown, accept: (refusal: null) => void) => {
        accept(null)
        connection.sequenceId = 0
      }
    })
  }

  private async answer(connection: Mysql.Connection, sql: string): Promise<void> {
    // with which a pool tries out its connection
    if (sql !== "SELECT 1") {
      this.running += 1
      await this.takes(this.queries.push(sql.split(" ")[0]!))
      this.running -= 1
    }
    // packets are numbered from the question on, which is 0
    connection.sequenceId = 1
    if (sql.startsWith("SELECT")) connection.writeTextResult([{ server: this.name }], [column])
    else connection.writeOk()
    connection.sequenceId = 0
  }
}

const column = {
  ...{ catalog: "def", schema: "", table: "", orgTable: "", name: "server", orgName: "server" },
  ...{ characterSet: 45, columnLength: 80, columnType: 253, flags: 0, decimals: 0 }
}

/** Serves until the scope closes, and says at which port. */
const serve = ({ listener }: Server) =>
  Effect.acquireRelease(
    Effect.async<ReturnType<typeof createServer>>((resume) => {
      const server = createServer(listener).listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.async<void>((resume) => void server.close(() => resume(Effect.void)))
  ).pipe(Effect.map((server) => (server.address() as AddressInfo).port))

/** The primary holds its first query until it is told otherwise, and takes longer for all others than a hedge would wait. */
export const main = Effect.gen(function* () {
  let release: () => void = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const primary = new Server("primary", (query) => (query === 1 ? held : setTimeout(60)))
  const replica = new Server("replica", () => Promise.resolve())

  const program = Effect.gen(function* () {
    const hedged = yield* read(select("tea"))
    const stillRunning = primary.running
    release()
    // waits for the only connection until the query that has lost returns it
    const alone = yield* Hedge.withoutHedging(read(select("tea")))
    yield* write(take("tea"))
    const inTransaction = yield* transact(Effect.zipLeft(read(select("tea")), take("tea")))
    return { hedged, stillRunning, alone, inTransaction }
  })

  // the policy's layer closes first, and waits until reads that have lost are off the pools
  const pools = Layer.merge(pool(Primary, yield* serve(primary)), pool(Replica, yield* serve(replica)))
  const policy = HedgePolicy.layer({ schedule: HedgeSchedule.fixed("20 millis"), deadline: "5 seconds" })
  const results = yield* Effect.provide(program, Layer.provideMerge(policy, pools))
  return { ...results, primary: primary.queries, replica: replica.queries }
}).pipe(Effect.scoped)
