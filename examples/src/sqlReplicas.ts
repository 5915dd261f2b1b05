/**
 * Hedged reads of a pair of SQL databases. A read goes to the primary; if that has no connection to spare, or is out of order, to its replica.
 * Writes go to the primary alone, and nothing inside a transaction is hedged.
 */
import { Reactivity } from "@effect/experimental"
import { SqlClient } from "@effect/sql"
import { LibsqlClient } from "@effect/sql-libsql"
import { Context, Effect, Fiber, Layer } from "effect"
import { Hedge, HedgePolicy, HedgeSchedule } from "effect-hedge"

class Databases extends Context.Tag("app/Databases")<
  Databases,
  { readonly primary: SqlClient.SqlClient; readonly replica: SqlClient.SqlClient }
>() {
  static readonly layer = (urls: { readonly primary: string; readonly replica: string }) =>
    Layer.scoped(
      Databases,
      Effect.all({
        primary: LibsqlClient.make({ url: urls.primary }),
        replica: LibsqlClient.make({ url: urls.replica })
      })
    ).pipe(Layer.provide(Reactivity.layer))
}

/** Runs a query under the policy in context, each attempt on the other database. */
const read = <A, E, R>(query: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const { primary, replica } = yield* Databases
    const policy = yield* HedgePolicy.DefaultPolicy
    return yield* Hedge.hedgeWith(
      ({ index }) => Effect.provideService(query, SqlClient.SqlClient, index % 2 === 0 ? primary : replica),
      policy
    )
  })

/**
 * Runs a query in a transaction of the primary. Reads within it belong to its connection: another copy of one would wait for that same
 * connection, or see other data.
 */
const transact = <A, E, R>(query: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Databases, ({ primary }) =>
    query.pipe(
      Effect.provideService(SqlClient.SqlClient, primary),
      Hedge.withoutHedging,
      primary.withTransaction
    )
  )

const stock = (item: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{ database: string; count: number }>`
      SELECT database, count FROM stock WHERE item = ${item}`
    return rows[0]
  })

/** Two databases that hold the same, and tell which they are. */
const prepare = Effect.gen(function* () {
  const databases = yield* Databases
  for (const [name, sql] of Object.entries(databases)) {
    yield* sql`CREATE TABLE stock (item TEXT PRIMARY KEY, count INTEGER, database TEXT)`
    yield* sql`INSERT INTO stock ${sql.insert({ item: "tea", count: 7, database: name })}`
  }
})

/** The primary is read while it is free, and while a transaction holds its only connection. */
export const main = Effect.gen(function* () {
  yield* prepare
  const free = yield* read(stock("tea"))
  const transaction = yield* Effect.fork(transact(Effect.zipRight(stock("tea"), Effect.never)))
  yield* Effect.yieldNow()
  const busy = yield* read(stock("tea"))
  yield* Fiber.interrupt(transaction)
  return { free: free?.database, busy: busy?.database }
}).pipe(
  Effect.provide(
    HedgePolicy.layer({ schedule: HedgeSchedule.fixed("20 millis"), deadline: "5 seconds" }).pipe(
      // the policy's layer closes first, and waits until reads that have lost are off the databases
      Layer.provideMerge(Databases.layer({ primary: ":memory:", replica: ":memory:" }))
    )
  )
)
