import { abortable, CancelledError, type Clock, deadline, isAbort, scope } from '@csi-sidecars/base'
import { type Driver, type DriverEvent, LOST_CONNECTION_EXITING } from '@csi-sidecars/csi'
import type { Elector, Term } from '@csi-sidecars/leader-election'
import type { Logger } from '@csi-sidecars/telemetry'
import type { Cache, Service } from './service.ts'

export type StopSignal = 'SIGTERM' | 'SIGINT'

/** How the process is to end. `bySignal`: as if nobody had handled it. */
export type Ending = { readonly code: number } | { readonly bySignal: StopSignal }

export interface ServeSettings {
  readonly onLeaseLoss: 'standby' | 'exit'
  readonly onDriverLoss: 'reconnect' | 'exit'
  /** How long a leader whose driver is gone keeps the lease. */
  readonly driverGraceMs: number
  /** How long running work may take to come to its end after a stop. */
  readonly drainMs: number
  /** Gate ReleaseLeaderElectionOnExit: drain and release on a signal. Without it the process ends at once. */
  readonly release: boolean
}

export interface ServeOptions {
  readonly service: Service
  readonly settings: ServeSettings
  readonly clock: Clock
  readonly log: Logger
  /** Calls back for each SIGTERM and SIGINT. */
  readonly onSignal: (listener: (signal: StopSignal) => void) => () => void
  /** Leaves a last word where the kubelet finds it. Must not fail. */
  readonly terminationMessage: (message: string) => Promise<void>
}

/** What is left to do once work has stopped, events and listeners, must not hold up the end. */
const CLOSE_MS = 3_000

/** Runs a started service until a signal, a lost lease or a lost driver ends it. Stops in the reverse of the start. */
export async function serve(options: ServeOptions): Promise<Ending> {
  const { service, clock, log } = options
  using life = scope()
  const ending = Promise.withResolvers<Ending>()
  const atOnce = new AbortController()
  const stop = new AbortController()
  const endAtOnce = (end: Ending): void => {
    atOnce.abort()
    ending.resolve(end)
  }
  const forgetSignals = options.onSignal(onSignal(options, stop, endAtOnce))
  const watchingDriver = watchDriver(options, ending.resolve)
  const follow = async (cache: Cache): Promise<void> => {
    try {
      await abortable(timeToFill(service), life.signal)
      await cache.run(life.signal)
    } catch (error) {
      if (life.signal.aborted && isAbort(error)) return
      log.error(error, 'Cache stopped', { cache: cache.name })
      ending.resolve({ code: 1 })
    }
  }
  const caches = service.caches.map(follow)
  try {
    const working = work(options, stop.signal).then(ending.resolve, ending.reject)
    const end = await ending.promise
    stop.abort(new CancelledError('the process is ending'))
    using patience = deadline(clock, CLOSE_MS, 'stopping', atOnce.signal)
    await abortable(working, patience.signal).catch(() => {})
    if (atOnce.signal.aborted) return end
    using limit = deadline(clock, CLOSE_MS, 'closing', atOnce.signal)
    await abortable(service.close(limit.signal), limit.signal).catch((error: unknown) =>
      log.error(error, 'Closing failed'),
    )
    return end
  } finally {
    watchingDriver.dispose()
    forgetSignals()
    life.abort(new CancelledError('the process is ending'))
    await Promise.all(caches)
    service.driver.close()
  }
}

/** Caches that are filled once the lease was seen to be free need not be filled again for the first term. */
async function timeToFill({ elector, driver }: Service): Promise<void> {
  // Without its driver this process does not stand for election, and never looks.
  if (driver.state === 'ready') await elector?.looked
}

/** The first signal drains, where that is wanted; any other ends the process without waiting. */
function onSignal(
  { settings, log }: ServeOptions,
  stop: AbortController,
  end: (ending: Ending) => void,
): (signal: StopSignal) => void {
  return (signal) => {
    if (!settings.release) return end({ bySignal: signal })
    if (stop.signal.aborted) return end({ code: 1 })
    log.info('Received SIGTERM or SIGINT signal, shutting down controller.')
    stop.abort(new CancelledError(`received ${signal}`))
  }
}

/** Ends the process for a driver that it cannot go on with, or, where that is wanted, for any loss. */
function watchDriver(
  { service, settings, log, terminationMessage }: ServeOptions,
  end: (ending: Ending) => void,
): { dispose(): void } {
  const listen = (event: DriverEvent): void => {
    if (event.type === 'failed') end({ code: 1 })
    if (event.type !== 'lost' || settings.onDriverLoss !== 'exit') return
    log.error(undefined, LOST_CONNECTION_EXITING)
    void terminationMessage(LOST_CONNECTION_EXITING).finally(() => end({ code: 1 }))
  }
  const dispose = service.driver.subscribe(listen)
  if (service.driver.state === 'lost') listen({ type: 'lost' })
  return { dispose }
}

async function work(options: ServeOptions, stop: AbortSignal): Promise<Ending> {
  const { service, settings } = options
  if (service.elector === undefined) {
    await leadAlone(options, stop)
    return { code: 0 }
  }
  for (;;) {
    const outcome = await stand(options, service.elector, stop)
    if (outcome === 'stopped') return { code: 0 }
    if (settings.onLeaseLoss === 'exit') return { code: 1 }
  }
}

/** Without leader election nobody else can act, so nothing but the time to drain cuts work short. */
async function leadAlone({ service, settings, clock }: ServeOptions, stop: AbortSignal): Promise<void> {
  using cut = drainLimit(clock, settings.drainMs, stop)
  await service.lead({ stop, cut: cut.signal, assertLeading: () => {}, soleSince: Number.NEGATIVE_INFINITY })
}

/** One candidacy: until stopped, or until a term is lost. A driver that stays away costs the lease, not the candidacy. */
function stand(options: ServeOptions, elector: Elector, stop: AbortSignal): Promise<'stopped' | 'lost'> {
  const { service, settings, clock } = options
  const lead = async (term: Term): Promise<void> => {
    using driverGone = graceOf(service.driver, settings.driverGraceMs, options)
    using halt = scope(stop, term.signal, driverGone.signal)
    using cut = drainLimit(clock, settings.drainMs, halt.signal, term.signal)
    const { soleSince } = term
    await service.lead({ stop: halt.signal, cut: cut.signal, assertLeading: () => term.assertHeld(), soleSince })
  }
  return elector.run({ lead, stop, eligible: (signal) => whenReady(service.driver, signal) })
}

/** Aborted when `ms` have passed since `stop`, or with any of the others. */
function drainLimit(clock: Clock, ms: number, stop: AbortSignal, ...others: AbortSignal[]): ReturnType<typeof scope> {
  const cut = scope(...others)
  let cancel = (): void => {}
  const arm = (): void => {
    cancel = clock.schedule(ms, () => cut.abort(new CancelledError('the time to drain is over')))
  }
  if (stop.aborted) arm()
  else stop.addEventListener('abort', arm, { once: true })
  const dispose = (): void => {
    stop.removeEventListener('abort', arm)
    cancel()
    cut.dispose()
  }
  return { signal: cut.signal, abort: cut.abort, dispose, [Symbol.dispose]: dispose }
}

/** Aborted when the driver has been gone for longer than the grace period. */
function graceOf(driver: Driver, ms: number, { clock, log }: ServeOptions): ReturnType<typeof scope> {
  const gone = scope()
  let cancel = (): void => {}
  const giveUp = (): void => {
    log.error(undefined, 'CSI driver is gone for longer than the grace period, releasing the lease', {
      driver: driver.name,
    })
    gone.abort(new CancelledError('the driver is gone'))
  }
  const listen = ({ type }: DriverEvent): void => {
    cancel()
    if (type === 'lost') cancel = clock.schedule(ms, giveUp)
  }
  const unsubscribe = driver.subscribe(listen)
  if (driver.state === 'lost') cancel = clock.schedule(Math.max(0, ms - driver.lostForMs), giveUp)
  const dispose = (): void => {
    unsubscribe()
    cancel()
    gone.dispose()
  }
  return { signal: gone.signal, abort: gone.abort, dispose, [Symbol.dispose]: dispose }
}

/** A replica without a driver does not stand for election. */
function whenReady(driver: Driver, signal: AbortSignal): Promise<void> {
  if (driver.state === 'ready') return Promise.resolve()
  const ready = Promise.withResolvers<void>()
  const unsubscribe = driver.subscribe(({ type }) => {
    if (type === 'ready') ready.resolve()
  })
  return abortable(ready.promise, signal).finally(unsubscribe)
}
