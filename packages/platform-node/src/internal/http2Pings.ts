import type { ClientHttp2Session } from "node:http2"

export interface PingSettings {
  /** Milliseconds between two PINGs while requests are in flight; Infinity sends those only that confirm resets. */
  readonly pingInterval: number
  /** A connection on which nothing has come for so many milliseconds, with a PING out, is dead. */
  readonly pingTimeout: number
}

/** Who is told what PINGs find out. */
export interface PingHost {
  readonly inFlight: number
  /** The server has handled so many of the resets that it was sent. */
  onConfirmed(resets: number): void
  onDead(silentFor: number): void
}

/** Half of a round trip's weight is that of the last PING, so that two of them tell most of what has changed. */
const weight = 0.5

/** The PINGs of one connection; at most one is out. */
export class Pings {
  private average = 0
  private sentAt: number | undefined = undefined
  private lastAt = -Infinity
  private starvedAt: number | undefined = undefined

  /** Whether anything has been sent or has come since the last PING went out. */
  private active = false
  private heard = false
  private heardAt = 0

  /** Resets that the PING which is out confirms, and those that have to wait for the next. */
  private confirming = 0
  private unconfirmed = 0
  private scheduled = false

  private armed = false
  private timer: NodeJS.Timeout | undefined = undefined

  constructor(
    private readonly session: ClientHttp2Session,
    private readonly settings: PingSettings,
    private readonly host: PingHost
  ) {}

  /**
   * Milliseconds: the moving average, and never less than how long a PING is out, or than how long the server has not read what is sent to it: PINGs
   * overtake what waits for the connection's window.
   */
  get roundTrip(): number {
    const { sentAt, starvedAt } = this
    if (sentAt === undefined && starvedAt === undefined) return this.average
    const now = performance.now()
    return Math.max(this.average, now - (sentAt ?? now), now - (starvedAt ?? now))
  }

  onSent(): void {
    this.active = true
    if (this.armed) return
    this.arm()
    this.pingIfDue(performance.now())
  }

  onReceived(): void {
    this.active = true
    this.heard = true
  }

  /** A stream has been reset. */
  confirmReset(): void {
    this.unconfirmed++
    this.confirm()
  }

  stop(): void {
    clearTimeout(this.timer)
    // for ever
    this.armed = true
  }

  private arm(): void {
    this.armed = true
    if (this.timer !== undefined) return void this.timer.refresh()
    const { pingInterval, pingTimeout } = this.settings
    this.timer = setTimeout(
      () => {
        this.armed = false
        // what has arrived in the meantime is read first
        setImmediate(() => this.check())
      },
      Math.min(pingInterval, pingTimeout)
    )
    this.timer.unref()
  }

  private check(): void {
    if (this.session.destroyed) return
    const now = performance.now()
    if (this.heard) {
      this.heard = false
      this.heardAt = now
    }
    if (this.sentAt !== undefined) {
      const silentFor = now - Math.max(this.sentAt, this.heardAt)
      if (silentFor >= this.settings.pingTimeout) return this.host.onDead(silentFor)
    }
    const busy = this.host.inFlight > 0
    const starved = busy && (this.session.state.remoteWindowSize ?? 1) <= 0
    this.starvedAt = starved ? (this.starvedAt ?? now) : undefined
    if (busy) this.pingIfDue(now)
    if (!this.armed && (busy || this.sentAt !== undefined)) this.arm()
  }

  /** A connection on which nothing happens is asked rarely: some servers take many PINGs without requests for an attack. */
  private pingIfDue(now: number): void {
    const { pingInterval, pingTimeout } = this.settings
    if (pingInterval === Infinity) return
    // a timer may be early by a part of a millisecond
    const since = now - this.lastAt + 1
    if (since >= (this.active ? pingInterval : Math.max(pingInterval, pingTimeout))) this.ping(now)
  }

  /** One PING confirms all resets of this turn of the event loop. It goes out in the next, since it would overtake them on the wire. */
  private confirm(): void {
    if (this.scheduled || this.sentAt !== undefined) return
    this.scheduled = true
    setImmediate(() => {
      this.scheduled = false
      this.ping(performance.now())
    })
  }

  private ping(now: number): void {
    if (this.sentAt !== undefined || this.session.destroyed) return
    this.sentAt = now
    this.lastAt = now
    this.active = false
    this.confirming = this.unconfirmed
    this.unconfirmed = 0
    if (!this.armed) this.arm()
    this.session.ping((error, duration) => this.onAnswered(error, duration))
  }

  private onAnswered(error: Error | null, duration: number): void {
    const { confirming } = this
    this.sentAt = undefined
    this.confirming = 0
    if (error !== null || this.session.destroyed) return
    this.heard = true
    this.average += (duration - this.average) * (this.average === 0 ? 1 : weight)
    if (confirming > 0) this.host.onConfirmed(confirming)
    if (this.unconfirmed > 0) this.confirm()
  }
}
