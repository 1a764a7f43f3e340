import { FakeClock } from '@csi-sidecars/base/testing'
import { boundPair, claim, pod } from '@csi-sidecars/volume-controllers/testing/objects'
import { beforeEach, describe, expect, it } from '@jest/globals'
import type { ClusterEvent } from './cluster-event.ts'
import * as expectation from './expectation.ts'
import { type Ending, runSteps, type StoryStep } from './run-steps.ts'

let clock: FakeClock
let reported: string[]
let ended: (number | string)[]
let happen: (event: ClusterEvent) => void
let listeners: number

beforeEach(() => {
  clock = new FakeClock()
  reported = []
  ended = []
  listeners = 0
})

const created = expectation.becomes('claim', { who: 'you', expected: 'claim created', holds: () => true })
const claimBound = expectation.becomes('claim', {
  who: 'binder',
  expected: 'claim Bound',
  holds: ({ phase }) => phase === 'Bound',
})

const step = (change: Partial<StoryStep> = {}): StoryStep => ({
  title: 'One',
  act: async () => {},
  expects: [created, claimBound],
  ...change,
})

function start(steps: readonly StoryStep[], signal = new AbortController().signal, pauseMs = 0): Promise<Ending> {
  const printer = {
    step: (number: number, title: string) => reported.push(`${number} ${title}`),
    line: ({ who, text }: { who: string; text: string }, afterMs: number) =>
      reported.push(`${afterMs} ${who}: ${text}`),
    ended: (number: number, failure?: string) => ended.push(failure === undefined ? number : `${number}: ${failure}`),
  }
  const watch = (listener: (event: ClusterEvent) => void): (() => void) => {
    happen = listener
    listeners += 1
    return () => {
      listeners -= 1
    }
  }
  return runSteps({ steps, printer, clock, watch, stepMs: 1_000, pauseMs }, signal)
}

const added: ClusterEvent = { kind: 'claim', before: undefined, after: claim() }
const becameBound: ClusterEvent = { kind: 'claim', before: claim(), after: boundPair().claim }

describe('runSteps', () => {
  it('the demo prints each expected event of a step, and then starts the next step', async () => {
    const ending = start([step(), step({ title: 'Two', expects: [] })])
    await clock.advance(5)
    happen(added)
    await clock.advance(7)
    happen(becameBound)
    await clock.settle()
    expect(await ending).toEqual({ kind: 'succeeded' })
    expect(reported).toEqual(['1 One', '5 you: claim created', '12 binder: claim Bound', '2 Two'])
    expect(ended).toEqual([1, 2])
    expect([listeners, clock.pending]).toEqual([0, 0])
  })

  it('the demo pauses before each step', async () => {
    const ending = start([step({ expects: [] }), step({ title: 'Two', expects: [] })], undefined, 100)
    await clock.advance(100)
    expect(reported).toEqual(['1 One'])
    await clock.advance(100)
    expect(await ending).toEqual({ kind: 'succeeded' })
  })

  it('the demo prints events in the order in which they happen', async () => {
    const ending = start([step({ expects: [claimBound, created] })])
    await clock.settle()
    happen(added)
    happen(becameBound)
    await clock.settle()
    expect(await ending).toEqual({ kind: 'succeeded' })
    expect(reported.slice(1)).toEqual(['0 you: claim created', '0 binder: claim Bound'])
  })

  it('the demo fails with the first expected event that does not happen in time', async () => {
    const ending = start([step(), step({ title: 'Two' })])
    await clock.settle()
    happen(added)
    await clock.advance(1_000)
    expect(await ending).toEqual({ kind: 'failed', step: 'One', expected: 'claim Bound', refusals: [] })
    expect(reported).toEqual(['1 One', '0 you: claim created'])
    expect(ended).toEqual(['1: claim Bound'])
    expect(listeners).toBe(0)
  })

  it("a failed demo reports the driver's last error of each method that still fails", async () => {
    const ending = start([step()])
    await clock.settle()
    const call = { request: {}, tookMs: 1 }
    const refused = (method: string, code: number, message: string): void =>
      happen({ kind: 'call', call: { ...call, method, code, message } })
    refused('CreateVolume', 8, 'no room')
    refused('CreateVolume', 0, '')
    refused('NodeStageVolume', 9, 'an older refusal')
    refused('NodeStageVolume', 13, 'mount: "permission" denied')
    await clock.advance(1_000)
    expect(await ending).toMatchObject({ refusals: ['NodeStageVolume: Internal "mount: \\"permission\\" denied"'] })
  })

  it('the demo starts the next step only after the action of the current step has ended', async () => {
    const done = Promise.withResolvers<void>()
    const ending = start([step({ act: () => done.promise, expects: [] }), step({ title: 'Two', expects: [] })])
    await clock.settle()
    expect(reported).toEqual(['1 One'])
    done.resolve()
    expect(await ending).toEqual({ kind: 'succeeded' })
  })

  it('the demo throws the error of a failed action', async () => {
    const act = async (): Promise<void> => {
      throw new Error('claim "data" exists already')
    }
    await expect(start([step({ act })])).rejects.toThrow('claim "data" exists already')
    expect(listeners).toBe(0)
  })

  it('the demo stops when its signal is aborted', async () => {
    const stop = new AbortController()
    const ending = start([step()], stop.signal)
    ending.catch(() => undefined)
    await clock.settle()
    stop.abort(new Error('Ctrl-C'))
    await expect(ending).rejects.toThrow('Ctrl-C')
    expect([listeners, clock.pending]).toEqual([0, 0])
  })
})

describe('Expectation', () => {
  it('a demo step waits for a change to the expected state, even if an object already has it', () => {
    expect(claimBound.see({ kind: 'claim', before: boundPair().claim, after: boundPair().claim })).toBeUndefined()
    expect(claimBound.see(becameBound)).toEqual({ who: 'binder', text: 'claim Bound' })
  })

  it('a demo step that expects a deletion waits for the deletion of exactly this object', () => {
    const goes = expectation.deleted('pod', {
      who: 'kubelet',
      expected: 'pod gone',
      holds: ({ name }) => name === 'app',
    })
    expect(goes.see({ kind: 'pod', before: pod(), after: undefined })).toEqual({ who: 'kubelet', text: 'pod gone' })
    expect(goes.see({ kind: 'pod', before: pod(), after: pod() })).toBeUndefined()
    expect(goes.see({ kind: 'pod', before: pod({ name: 'other' }), after: undefined })).toBeUndefined()
  })

  const call = expectation.call('NodeStageVolume', {
    who: 'kubelet',
    detail: ({ request }) => String(request['volumeId']),
  })
  const seen = (code: number, method = 'NodeStageVolume'): ClusterEvent => ({
    kind: 'call',
    call: { method, code, tookMs: 0.42, request: { volumeId: 'v' } },
  })

  it('a demo step that expects a call waits for a successful call, and prints its duration', () => {
    expect(call.see(seen(0))).toEqual({ who: 'kubelet', text: 'NodeStageVolume v, 0.4 ms' })
    expect([call.see(seen(13)), call.see(seen(0, 'NodePublishVolume'))]).toEqual([undefined, undefined])
  })

  it('the demo prints durations of 10 ms and more without fractions', () => {
    expect([expectation.duration(9.94), expectation.duration(1234.5)]).toEqual(['9.9 ms', '1235 ms'])
  })
})
