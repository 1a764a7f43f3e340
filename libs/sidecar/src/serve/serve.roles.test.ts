import { aborted } from '@csi-sidecars/base'
import { FakeClock } from '@csi-sidecars/base/testing'
import type { Lead } from '@csi-sidecars/controller'
import type { Elector } from '@csi-sidecars/leader-election'
import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { describe, expect, it } from '@jest/globals'
import type { ProcessEnding, StopSignal } from '../process.ts'
import { ScriptedDriver, ScriptedElector } from '../testing/scripted.ts'
import { serve } from './serve.ts'

const SETTINGS = {
  onLeaseLoss: 'standby',
  onDriverLoss: 'reconnect',
  driverGraceMs: 30_000,
  drainMs: 25_000,
  releasesLease: true,
  exitsWithZeroOnSigint: false,
} as const

/** A process with these roles (apps). The role `sick` fails in its first terms. */
class Process {
  readonly clock = new FakeClock()
  readonly log = recordingLogger()
  readonly led: Map<string, Lead[]>
  ending: ProcessEnding | Error | undefined
  kill: (signal: StopSignal) => void = () => {}

  private constructor(names: readonly string[]) {
    this.led = new Map(names.map((name) => [name, []]))
  }

  static async start(names: readonly string[], failures: number, elected = true): Promise<Process> {
    const running = new Process(names)
    const { clock, log } = running
    const roles = names.map((name) => ({
      name,
      // The cast is safe: `serve` uses only the members of an elector that `ScriptedElector` has.
      elector: elected ? (new ScriptedElector(clock) as unknown as Elector) : undefined,
      lead: async (lead: Lead) => {
        running.terms(name).push(lead)
        if (name === 'sick' && running.terms(name).length <= failures) throw new Error('a bug')
        await aborted(lead.stop)
      },
    }))
    const service = { log, driver: new ScriptedDriver(), caches: [], roles, close: async () => {} }
    const onSignal = (listener: (signal: StopSignal) => void): void => {
      running.kill = listener
    }
    const terminationMessage = async (): Promise<void> => {}
    serve({ service, settings: SETTINGS, clock, onSignal, terminationMessage }).then(
      (ending) => {
        running.ending = ending
      },
      (error: Error) => {
        running.ending = error
      },
    )
    await clock.settle()
    return running
  }

  terms(name: string): Lead[] {
    const terms = this.led.get(name)
    if (terms === undefined) throw new Error(`no role ${name}`)
    return terms
  }
}

describe('failing apps', () => {
  it.each([true, false])('a failed app restarts while other apps continue (leader election %s)', async (elected) => {
    const running = await Process.start(['sick', 'well'], 2, elected)
    const { clock, log } = running
    expect(log.lines).toEqual([
      expect.objectContaining({
        level: 'error',
        message: 'Controller failed, it starts again after a pause',
        pairs: expect.objectContaining({ sidecar: 'sick' }),
      }),
    ])
    await clock.advance(9_999)
    expect(running.terms('sick')).toHaveLength(1)
    await clock.advance(10_001)
    expect(running.terms('sick')).toHaveLength(3)
    expect(running.terms('well').map(({ stop }) => stop.aborted)).toEqual([false])
    expect(running.ending).toBeUndefined()
    running.kill('SIGTERM')
    await clock.settle()
    expect(running.ending).toEqual({ code: 0 })
  })

  it('an app that fails stops being the leader', async () => {
    const running = await Process.start(['sick', 'well'], 1)
    expect(() => running.terms('sick')[0]?.assertLeading()).toThrow('released')
  })

  it('the process ends if its only app fails', async () => {
    const running = await Process.start(['sick'], 1)
    expect(running.ending).toEqual(new Error('a bug'))
  })

  it('a failed app that waits for its restart does not delay the end of the process', async () => {
    const running = await Process.start(['sick', 'well'], 1)
    running.kill('SIGTERM')
    await running.clock.settle()
    expect(running.ending).toEqual({ code: 0 })
  })
})
