import { aborted } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import type { Lead } from '@csi-sidecars/controller'
import type { Elector } from '@csi-sidecars/leader-election'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { beforeEach, describe, expect, it } from '@jest/globals'
import type { ProcessEnding, StopSignal } from '../process.ts'
import { ScriptedDriver, ScriptedElector } from '../testing/scripted.ts'
import { type ServeOptions, type StartedService, serve } from './serve.ts'

const SETTINGS: ServeOptions['settings'] = {
  onLeaseLoss: 'standby',
  onDriverLoss: 'reconnect',
  driverGraceMs: 30_000,
  drainMs: 25_000,
  releasesLease: true,
  exitsWithZeroOnSigint: false,
}

let clock: FakeClock
let driver: ScriptedDriver
let elector: ScriptedElector
let log: ReturnType<typeof recordingLogger>
let leads: Lead[]
let drained: PromiseWithResolvers<void>
let closed: boolean
let filling: boolean
let lastWords: string[]
let kill: (signal: StopSignal) => void
let ending: ProcessEnding | undefined

beforeEach(() => {
  clock = new FakeClock()
  driver = new ScriptedDriver()
  elector = new ScriptedElector(clock)
  log = recordingLogger()
  leads = []
  drained = Promise.withResolvers()
  closed = false
  filling = false
  lastWords = []
  ending = undefined
})

function start(settings: Partial<ServeOptions['settings']> = {}, withElection = true, waits?: Promise<void>): void {
  const run = async (signal: AbortSignal): Promise<void> => {
    filling = true
    await aborted(signal)
  }
  const service: StartedService = {
    log,
    driver,
    caches: [{ name: 'Things', synced: false, silentForMs: 0, run }],
    roles: [
      {
        name: 'csi-test',
        // The cast is safe: `serve` uses only the members of an elector that `ScriptedElector` has.
        elector: withElection ? (elector as unknown as Elector) : undefined,
        ...(waits && { whenWaitingForOtherLease: waits }),
        lead: async (lead) => {
          leads.push(lead)
          await aborted(lead.stop)
          await Promise.race([drained.promise, aborted(lead.cancelRuns)])
        },
      },
    ],
    close: async () => {
      closed = true
    },
  }
  void serve({
    service,
    settings: { ...SETTINGS, ...settings },
    clock,
    onSignal: (listener) => {
      kill = listener
    },
    terminationMessage: async (message) => void lastWords.push(message),
  }).then((end) => {
    ending = end
  })
}

describe.each([true, false])('leader election: %s', (withElection) => {
  beforeEach(async () => {
    start({}, withElection)
    await clock.settle()
  })

  it('after a signal the process starts no new work, lets running work end, and ends with exit code 0', async () => {
    kill('SIGTERM')
    await clock.advance(10_000)
    expect(leads[0]?.stop.aborted).toBe(true)
    expect(leads[0]?.cancelRuns.aborted).toBe(false)
    expect(ending).toBeUndefined()
    drained.resolve()
    await clock.advance(1)
    expect(ending).toEqual({ code: 0 })
    expect(closed).toBe(true)
    elector.term?.end('the test is over')
    expect(clock.pending).toBe(0)
    expect(log.lines[0]?.message).toBe('Received SIGTERM or SIGINT signal, shutting down controller.')
  })

  it('a signal cancels running work when the time to drain is over', async () => {
    kill('SIGTERM')
    await clock.advance(24_999)
    expect(ending).toBeUndefined()
    await clock.advance(1)
    expect(leads[0]?.cancelRuns.aborted).toBe(true)
    expect(ending).toEqual({ code: 0 })
  })

  it('a second signal ends the process at once with exit code 1', async () => {
    kill('SIGTERM')
    kill('SIGTERM')
    await clock.settle()
    expect(ending).toEqual({ code: 1 })
  })

  it('a process that a signal ends leaves no timer behind', async () => {
    kill('SIGINT')
    drained.resolve()
    await clock.advance(3_000)
    expect(clock.pending).toBe(0)
  })
})

describe('a Lease without release', () => {
  it('without the gate ReleaseLeaderElectionOnExit, a signal ends the process without cleanup', async () => {
    start({ releasesLease: false })
    await clock.settle()
    kill('SIGTERM')
    await clock.settle()
    expect(ending).toEqual({ bySignal: 'SIGTERM' })
    expect(closed).toBe(false)
  })
})

describe('lost lease', () => {
  it('a lost lease cancels running work at once, and the process returns to standby', async () => {
    start()
    await clock.settle()
    elector.term?.end('lost')
    await clock.settle()
    expect(leads[0]?.cancelRuns.aborted).toBe(true)
    expect(() => leads[0]?.assertLeading()).toThrow('lost')
    expect(ending).toBeUndefined()
    expect(leads).toHaveLength(2)
    expect(() => leads[1]?.assertLeading()).not.toThrow()
  })

  it('the process ends with exit code 1 after a lost lease if `onLeaseLoss` is `exit`', async () => {
    start({ onLeaseLoss: 'exit' })
    await clock.settle()
    elector.term?.end('lost')
    await clock.settle()
    expect(ending).toEqual({ code: 1 })
  })
})

describe('lost driver', () => {
  it('a driver that reconnects within the grace period does not end the leader term', async () => {
    start()
    await clock.settle()
    driver.become({ type: 'lost' })
    await clock.advance(29_999)
    driver.become({ type: 'ready', lostForMs: 29_999 })
    await clock.advance(60_000)
    expect(leads).toHaveLength(1)
    expect(leads[0]?.stop.aborted).toBe(false)
  })

  it('a leader releases its lease if the driver stays lost, and competes again when the driver is back', async () => {
    start()
    await clock.settle()
    driver.become({ type: 'lost' })
    drained.resolve()
    await clock.advance(30_000)
    expect(leads[0]?.stop.aborted).toBe(true)
    expect(elector.term?.isHeld()).toBe(false)
    await clock.advance(600_000)
    expect(elector.terms).toBe(1)
    driver.become({ type: 'ready', lostForMs: 630_000 })
    await clock.settle()
    expect(elector.terms).toBe(2)
    expect(ending).toBeUndefined()
  })

  it('the process ends with a termination message after a lost driver if `onDriverLoss` is `exit`', async () => {
    start({ onDriverLoss: 'exit' })
    await clock.settle()
    driver.become({ type: 'lost' })
    drained.resolve()
    await clock.settle()
    expect(lastWords).toEqual(['Lost connection to CSI driver, exiting'])
    expect(log.lines[0]).toMatchObject({ level: 'error', message: 'Lost connection to CSI driver, exiting' })
    expect(ending).toEqual({ code: 1 })
  })

  it('the process ends if another driver comes back instead of the lost driver', async () => {
    start()
    await clock.settle()
    driver.become({ type: 'failed', error: new Error('another name') })
    drained.resolve()
    await clock.settle()
    expect(ending).toEqual({ code: 1 })
  })

  it('the process ends if another driver has come back during the start', async () => {
    driver.state = 'failed'
    start()
    drained.resolve()
    await clock.settle()
    expect(ending).toEqual({ code: 1 })
  })
})

describe('caches', () => {
  it('caches begin to fill only after the first read of the lease', async () => {
    start()
    await clock.settle()
    expect(filling).toBe(false)
    elector.leaseRead.resolve()
    await clock.settle()
    expect(filling).toBe(true)
  })

  it.each([
    { where: 'there is no lease', withElection: false, lost: false },
    { where: 'the driver is lost, and there is no election', withElection: true, lost: true },
  ])('caches begin to fill at once if $where', async ({ withElection, lost }) => {
    if (lost) driver.state = 'lost'
    start({}, withElection)
    await clock.settle()
    expect(filling).toBe(true)
  })

  it('caches begin to fill even while the process waits for the lease of another sidecar', async () => {
    const waits = Promise.withResolvers<void>()
    start({}, true, waits.promise)
    await clock.settle()
    expect(filling).toBe(false)
    waits.resolve()
    await clock.settle()
    expect(filling).toBe(true)
  })

  it('a leader term requires caches that are as new as the start of the term', async () => {
    await clock.advance(5000)
    start()
    await clock.settle()
    expect(leads.map(({ soleSince }) => soleSince)).toEqual([5000])
  })

  it('caches that were never filled do not delay the end of the process', async () => {
    start()
    await clock.settle()
    kill('SIGTERM')
    drained.resolve()
    await clock.settle()
    expect({ ending, filling }).toEqual({ ending: { code: 0 }, filling: false })
  })
})
