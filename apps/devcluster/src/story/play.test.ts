import { FakeClock } from '@csi-sidecars/base'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { boundPair, claim, pod } from '../testing/objects.ts'
import * as expectation from './expectation.ts'
import type { Happening } from './happening.ts'
import { type Chapter, type Ending, play } from './play.ts'

let clock: FakeClock
let told: string[]
let ended: (number | string)[]
let happen: (happening: Happening) => void
let listeners: number

beforeEach(() => {
  clock = new FakeClock()
  told = []
  ended = []
  listeners = 0
})

const made = expectation.claim({ who: 'you', what: 'claim made', holds: () => true })
const bound = expectation.claim({ who: 'binder', what: 'claim Bound', holds: ({ phase }) => phase === 'Bound' })

const chapter = (change: Partial<Chapter> = {}): Chapter => ({
  title: 'One',
  act: async () => {},
  expects: [made, bound],
  ...change,
})

function start(chapters: readonly Chapter[], signal = new AbortController().signal, pauseMs = 0): Promise<Ending> {
  const teller = {
    chapter: (number: number, title: string) => told.push(`${number} ${title}`),
    line: ({ who, text }: { who: string; text: string }, afterMs: number) => told.push(`${afterMs} ${who}: ${text}`),
    ended: (number: number, untrue?: string) => ended.push(untrue === undefined ? number : `${number}: ${untrue}`),
  }
  const watch = (listener: (happening: Happening) => void): (() => void) => {
    happen = listener
    listeners += 1
    return () => {
      listeners -= 1
    }
  }
  return play({ chapters, teller, clock, watch, chapterMs: 1_000, pauseMs }, signal)
}

const added: Happening = { is: 'claim', before: undefined, after: claim() }
const becameBound: Happening = { is: 'claim', before: claim(), after: boundPair().claim }

describe('a story', () => {
  it('tells each thing when it happens, and goes on when all of a chapter has', async () => {
    const ending = start([chapter(), chapter({ title: 'Two', expects: [] })])
    await clock.advance(5)
    happen(added)
    await clock.advance(7)
    happen(becameBound)
    await clock.settle()
    expect(await ending).toEqual({ is: 'true' })
    expect(told).toEqual(['1 One', '5 you: claim made', '12 binder: claim Bound', '2 Two'])
    expect(ended).toEqual([1, 2])
    expect([listeners, clock.pending]).toEqual([0, 0])
  })

  it('pauses before each chapter where somebody watches', async () => {
    const ending = start([chapter({ expects: [] }), chapter({ title: 'Two', expects: [] })], undefined, 100)
    await clock.advance(100)
    expect(told).toEqual(['1 One'])
    await clock.advance(100)
    expect(await ending).toEqual({ is: 'true' })
  })

  it('tells things in the order in which they happen, whatever the script says', async () => {
    const ending = start([chapter({ expects: [bound, made] })])
    await clock.settle()
    happen(added)
    happen(becameBound)
    await clock.settle()
    expect(await ending).toEqual({ is: 'true' })
    expect(told.slice(1)).toEqual(['0 you: claim made', '0 binder: claim Bound'])
  })

  it('ends with the first thing that does not come true in time', async () => {
    const ending = start([chapter(), chapter({ title: 'Two' })])
    await clock.settle()
    happen(added)
    await clock.advance(1_000)
    expect(await ending).toEqual({ is: 'untrue', chapter: 'One', what: 'claim Bound', refusals: [] })
    expect(told).toEqual(['1 One', '0 you: claim made'])
    expect(ended).toEqual(['1: claim Bound'])
    expect(listeners).toBe(0)
  })

  it("ends with the driver's own words about what it refused, and did not do later", async () => {
    const ending = start([chapter()])
    await clock.settle()
    const call = { request: {}, tookMs: 1 }
    const refused = (method: string, code: number, message: string): void =>
      happen({ is: 'call', call: { ...call, method, code, message } })
    refused('CreateVolume', 8, 'no room')
    refused('CreateVolume', 0, '')
    refused('NodeStageVolume', 9, 'an older refusal')
    refused('NodeStageVolume', 13, 'mount: "permission" denied')
    await clock.advance(1_000)
    expect(await ending).toMatchObject({ refusals: ['NodeStageVolume: Internal "mount: \\"permission\\" denied"'] })
  })

  it('waits for what is done as well', async () => {
    const done = Promise.withResolvers<void>()
    const ending = start([chapter({ act: () => done.promise, expects: [] }), chapter({ title: 'Two', expects: [] })])
    await clock.settle()
    expect(told).toEqual(['1 One'])
    done.resolve()
    expect(await ending).toEqual({ is: 'true' })
  })

  it('fails with what could not be done', async () => {
    const act = async (): Promise<void> => {
      throw new Error('claim "data" exists already')
    }
    await expect(start([chapter({ act })])).rejects.toThrow('claim "data" exists already')
    expect(listeners).toBe(0)
  })

  it('stops when it is told to', async () => {
    const stop = new AbortController()
    const ending = start([chapter()], stop.signal)
    ending.catch(() => undefined)
    await clock.settle()
    stop.abort(new Error('Ctrl-C'))
    await expect(ending).rejects.toThrow('Ctrl-C')
    expect([listeners, clock.pending]).toEqual([0, 0])
  })
})

describe('an expectation', () => {
  it('sees the turn, not the state', () => {
    expect(bound.see({ is: 'claim', before: boundPair().claim, after: boundPair().claim })).toBeUndefined()
    expect(bound.see(becameBound)).toEqual({ who: 'binder', text: 'claim Bound' })
  })

  it('sees that something went', () => {
    const goes = expectation.podGoes({ who: 'kubelet', what: 'pod gone', holds: ({ name }) => name === 'app' })
    expect(goes.see({ is: 'pod', before: pod(), after: undefined })).toEqual({ who: 'kubelet', text: 'pod gone' })
    expect(goes.see({ is: 'pod', before: pod(), after: pod() })).toBeUndefined()
    expect(goes.see({ is: 'pod', before: pod({ name: 'other' }), after: undefined })).toBeUndefined()
  })

  const call = expectation.call('NodeStageVolume', {
    who: 'kubelet',
    detail: ({ request }) => String(request['volumeId']),
  })
  const seen = (code: number, method = 'NodeStageVolume'): Happening => ({
    is: 'call',
    call: { method, code, tookMs: 0.42, request: { volumeId: 'v' } },
  })

  it('sees a call that ended well, and how long it took', () => {
    expect(call.see(seen(0))).toEqual({ who: 'kubelet', text: 'NodeStageVolume v, 0.4 ms' })
    expect([call.see(seen(13)), call.see(seen(0, 'NodePublishVolume'))]).toEqual([undefined, undefined])
  })

  it('tells long times without fractions', () => {
    expect([expectation.duration(9.94), expectation.duration(1234.5)]).toEqual(['9.9 ms', '1235 ms'])
  })
})
