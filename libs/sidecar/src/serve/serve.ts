import { abortable, CancelledError, type Clock, deadline, isAbort, onAbort, scope } from '@csi-sidecars/base'
import type { Lead } from '@csi-sidecars/controller'
import { type Driver, type DriverEvent, LOST_CONNECTION_EXITING } from '@csi-sidecars/csi'
import type { Elector, LeaderTerm } from '@csi-sidecars/leader-election'
import type { Logger } from '@csi-sidecars/telemetry'
import type { ProcessEnding, StopSignal } from '../process.ts'
import type { Cache } from './caches.ts'

/** A started process that is connected to its driver. Its controllers are chosen but do not work yet. */
export interface StartedService {
  /** The log. Each line has the key-value pairs that the start has added. */
  readonly log: Logger
  readonly driver: Driver
  readonly caches: readonly Cache[]
  readonly roles: readonly LeaseRole[]
  /** Saves pending reports, such as Kubernetes Events, and closes listeners. Must stop when `signal` is aborted. */
  readonly close: (signal: AbortSignal) => Promise<void>
}

/** One app that competes for its Lease, and works while it holds the Lease. */
export interface LeaseRole {
  readonly name: string
  /** The elector. Undefined without leader election: the app always leads. */
  readonly elector: Elector | undefined
  /** Resolves when the app may take part in the election. */
  readonly whenEligible?: (signal: AbortSignal) => Promise<void>
  /** Resolves when `whenEligible` begins a long wait for the Lease of another sidecar. */
  readonly whenWaitingForOtherLease?: Promise<void>
  /** Works until `lead.stop` is aborted and running work has ended. */
  readonly lead: (lead: Lead) => Promise<void>
}

/** A started service, and what the process does after the loss of the Lease or of the driver. */
export interface ServeOptions {
  readonly service: StartedService
  readonly settings: {
    readonly onLeaseLoss: 'standby' | 'exit'
    readonly onDriverLoss: 'reconnect' | 'exit'
    /** How long a leader keeps the lease without its driver, in milliseconds. */
    readonly driverGraceMs: number
    /** How long running work may continue after a stop, in milliseconds. */
    readonly drainMs: number
    /** The gate ReleaseLeaderElectionOnExit. False: a signal ends the process at once, without draining work. */
    readonly releasesLease: boolean
    /** True: without `releasesLease`, SIGINT ends the process with exit code 0. */
    readonly exitsWithZeroOnSigint: boolean
  }
  readonly clock: Clock
  /** Calls back for each later SIGTERM and SIGINT. */
  readonly onSignal: (listener: (signal: StopSignal) => void) => void
  /** Writes the termination message for the kubelet. Must not fail. */
  readonly terminationMessage: (message: string) => Promise<void>
}

/** The longest time for saving events and closing listeners after the work has stopped. */
const CLOSE_TIMEOUT_MS = 3_000

/**
 * Runs a started service until a signal, a lost lease or a lost driver ends it. Its parts stop in the reverse order of
 * the start.
 */
export async function serve(options: ServeOptions): Promise<ProcessEnding> {
  const { service, clock } = options
  const { log } = service
  using life = scope()
  const ending = Promise.withResolvers<ProcessEnding>()
  const atOnce = new AbortController()
  const stop = new AbortController()
  const endAtOnce = (end: ProcessEnding): void => {
    atOnce.abort()
    ending.resolve(end)
  }
  options.onSignal(onSignal(options, stop, endAtOnce))
  const watchingDriver = watchDriver(options, ending.resolve)
  const follow = async (cache: Cache): Promise<void> => {
    try {
      await abortable(waitBeforeFillingCaches(service), life.signal)
      await cache.run(life.signal)
    } catch (error) {
      if (life.signal.aborted && isAbort(error)) return
      log.error(error, 'Cache stopped', { cache: cache.name })
      ending.resolve({ code: 1 })
    }
  }
  const caches = service.caches.map(follow)
  try {
    const working = Promise.all(
      service.roles.map(async (role) => {
        if ((await work(role, options, stop.signal)) === 'lost') ending.resolve({ code: 1 })
      }),
    )
    working.then(() => ending.resolve({ code: 0 }), ending.reject)
    const end = await ending.promise
    stop.abort(new CancelledError('the process is ending'))
    using timeLimit = deadline(clock, CLOSE_TIMEOUT_MS, { operation: 'stopping', signal: atOnce.signal })
    await abortable(working, timeLimit.signal).catch(() => {})
    if (atOnce.signal.aborted) return end
    using limit = deadline(clock, CLOSE_TIMEOUT_MS, { operation: 'closing', signal: atOnce.signal })
    await abortable(service.close(limit.signal), limit.signal).catch((error: unknown) =>
      log.error(error, 'Closing failed'),
    )
    return end
  } finally {
    watchingDriver.dispose()
    life.abort(new CancelledError('the process is ending'))
    await Promise.all(caches)
    service.driver.close()
  }
}

/**
 * Waits until the process has read the lease, because only caches that are filled later are new enough for the first
 * term. Does not wait while the process may not read the lease, so that a standby fills its caches, too.
 */
async function waitBeforeFillingCaches({ roles, driver }: StartedService): Promise<void> {
  // The process does not read the lease before its driver is connected.
  if (driver.state !== 'ready') return
  await Promise.all(roles.map(waitForFirstLeaseRead))
}

/** Waits until the lease of a role was read, or until it is known that it cannot be read now. */
function waitForFirstLeaseRead({ elector, whenWaitingForOtherLease }: LeaseRole): Promise<void> | undefined {
  return whenWaitingForOtherLease === undefined
    ? elector?.firstRead
    : Promise.race([elector?.firstRead, whenWaitingForOtherLease])
}

/** Returns a signal listener. With `settings.releasesLease` the first signal drains work. Otherwise, and if another signal follows, the process ends. */
function onSignal(
  { settings, service: { log } }: ServeOptions,
  stop: AbortController,
  end: (ending: ProcessEnding) => void,
): (signal: StopSignal) => void {
  return (signal) => {
    const isSuccess = signal === 'SIGINT' && settings.exitsWithZeroOnSigint
    if (!settings.releasesLease) return end(isSuccess ? { code: 0 } : { bySignal: signal })
    if (stop.signal.aborted) return end({ code: 1 })
    log.info('Received SIGTERM or SIGINT signal, shutting down controller.')
    stop.abort(new CancelledError(`received ${signal}`))
  }
}

/** Ends the process for an unusable driver, or, if configured, for any lost driver. */
function watchDriver(
  { service, settings, terminationMessage }: ServeOptions,
  end: (ending: ProcessEnding) => void,
): { dispose(): void } {
  const endIfNeeded = (state: Driver['state']): void => {
    if (state === 'failed') end({ code: 1 })
    if (state !== 'lost' || settings.onDriverLoss !== 'exit') return
    service.log.error(undefined, LOST_CONNECTION_EXITING)
    void terminationMessage(LOST_CONNECTION_EXITING).finally(() => end({ code: 1 }))
  }
  const dispose = service.driver.subscribe(({ type }) => endIfNeeded(type))
  // The state may have changed during the start, before this function subscribes.
  endIfNeeded(service.driver.state)
  return { dispose }
}

/**
 * Runs a role until it is stopped, or until the loss of its lease ends the process. If one of several roles fails, it
 * starts again after a pause, without effect on the others. A single role that fails ends the process.
 */
async function work(role: LeaseRole, options: ServeOptions, stop: AbortSignal): Promise<'stopped' | 'lost'> {
  const { service, clock } = options
  const { log } = service
  const run = (): Promise<'stopped' | 'lost'> => workOnce(role, options, stop)
  if (service.roles.length === 1) return await run()
  return (await restartOnFailure(run, { name: role.name, clock, log, stop })) ?? 'stopped'
}

async function workOnce(role: LeaseRole, options: ServeOptions, stop: AbortSignal): Promise<'stopped' | 'lost'> {
  if (role.elector === undefined) {
    // Without leader election no lease can be lost, so only the drain time-out cancels running work.
    using cancelRuns = drainLimit(options.clock, options.settings.drainMs, { stop })
    await role.lead({
      stop,
      cancelRuns: cancelRuns.signal,
      assertLeading: () => {},
      soleSince: Number.NEGATIVE_INFINITY,
    })
    return 'stopped'
  }
  for (;;) {
    const outcome = await runElection({ ...role, elector: role.elector }, options, stop)
    if (outcome === 'stopped' || options.settings.onLeaseLoss === 'exit') return outcome
  }
}

/**
 * Takes part in the election until `stop` is aborted or the lease is lost. If the driver stays lost, the process
 * releases the lease but stays in the election. If the work fails, the process releases the lease and throws the error.
 */
async function runElection(
  role: LeaseRole & { readonly elector: Elector },
  options: ServeOptions,
  stop: AbortSignal,
): Promise<'stopped' | 'lost'> {
  const { service, settings, clock } = options
  using election = scope(stop)
  const failures: unknown[] = []
  const lead = async (term: LeaderTerm): Promise<void> => {
    using driverGone = driverGrace(options)
    using halt = scope(stop, term.signal, driverGone.signal)
    using cancelRuns = drainLimit(clock, settings.drainMs, { stop: halt.signal, end: term.signal })
    const { soleSince } = term
    const mine = { stop: halt.signal, cancelRuns: cancelRuns.signal, assertLeading: () => term.assertHeld(), soleSince }
    await role.lead(mine).catch((error: unknown) => {
      failures.push(error)
      election.abort(new CancelledError('the controller failed'))
    })
  }
  const whenEligible = async (signal: AbortSignal): Promise<void> => {
    await whenReady(service.driver, signal)
    await role.whenEligible?.(signal)
  }
  const outcome = await role.elector.run({ lead, stop: election.signal, whenEligible })
  if (failures.length > 0) throw failures[0]
  return outcome
}

/** Returns a scope that is aborted `ms` after `stop` is aborted, or as soon as `end` is aborted. */
function drainLimit(
  clock: Clock,
  ms: number,
  { stop, end }: { readonly stop: AbortSignal; readonly end?: AbortSignal },
): ReturnType<typeof scope> {
  const cancelRuns = scope(end)
  let cancel = (): void => {}
  const arm = (): void => {
    cancel = clock.schedule(ms, () => cancelRuns.abort(new CancelledError('the time to drain is over')))
  }
  if (stop.aborted) arm()
  const ignoreStop = onAbort(stop, arm)
  const dispose = (): void => {
    ignoreStop()
    cancel()
    cancelRuns.dispose()
  }
  return { signal: cancelRuns.signal, abort: cancelRuns.abort, dispose, [Symbol.dispose]: dispose }
}

/** Returns a scope that is aborted when the driver is gone for longer than the grace period. */
function driverGrace({ service: { driver, log }, settings, clock }: ServeOptions): ReturnType<typeof scope> {
  const ms = settings.driverGraceMs
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

/** Waits for the driver: a replica without a driver takes no part in the election. */
function whenReady(driver: Driver, signal: AbortSignal): Promise<void> {
  if (driver.state === 'ready') return Promise.resolve()
  const ready = Promise.withResolvers<void>()
  const unsubscribe = driver.subscribe(({ type }) => {
    if (type === 'ready') ready.resolve()
  })
  return abortable(ready.promise, signal).finally(unsubscribe)
}

/** The pause before a failed app starts again, which equals the first pause of a crashing container. */
const RESTART_PAUSE_MS = 10_000

/**
 * Runs the work of one app in a shared process. An error is logged, and after a pause the work starts again, while the
 * other apps continue. Resolves with the result of the work, or with undefined if stopped after a failure.
 */
export async function restartOnFailure<T>(
  run: () => Promise<T>,
  options: {
    readonly name: string
    readonly clock: Clock
    readonly log: Logger
    /** Once aborted, failed work is not started again. Running work ends by itself. */
    readonly stop: AbortSignal
  },
): Promise<T | undefined> {
  const { name, clock, log, stop } = options
  for (;;) {
    try {
      return await run()
    } catch (error) {
      log.error(error, 'Controller failed, it starts again after a pause', { sidecar: name })
      await clock.sleep(RESTART_PAUSE_MS, stop).catch(() => {})
      if (stop.aborted) return undefined
    }
  }
}
