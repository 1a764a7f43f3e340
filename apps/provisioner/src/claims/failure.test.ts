import { CODES, type CodeName, RpcError } from '@csi-sidecars/csi'
import { describe, expect, it } from '@jest/globals'
import { ProvisionError } from '../request/failure.ts'
import { AnswerError, creationFailure } from './failure.ts'

type State = ReturnType<typeof creationFailure>['state']

const rpc = (name: CodeName, options: object = {}): RpcError => new RpcError(CODES[name], 'no', options)
const FIRST = { mayReschedule: false, isRepeated: false }
const BACKGROUND: readonly CodeName[] = ['Canceled', 'DeadlineExceeded', 'Unavailable', 'Aborted']

describe('creationFailure', () => {
  it.each((Object.keys(CODES) as CodeName[]).filter((name) => name !== 'OK'))(
    'the gRPC code %s decides whether a failed creation may still be running',
    (name) => {
      const isRunning = BACKGROUND.includes(name)
      expect(creationFailure(rpc(name), FIRST).state).toBe(isRunning ? 'background' : 'final')
      const rescheduled = name === 'ResourceExhausted' ? 'reschedule' : 'final'
      expect(creationFailure(rpc(name), { ...FIRST, mayReschedule: true }).state).toBe(
        isRunning ? 'background' : rescheduled,
      )
    },
  )

  it.each<[string, unknown, { state: State; isAnswered: boolean; isInfeasible?: boolean }]>([
    ['an invalid argument', rpc('InvalidArgument'), { state: 'final', isAnswered: true, isInfeasible: true }],
    ['an unreadable answer', rpc('Internal', { origin: 'client' }), { state: 'background', isAnswered: true }],
    ['a volume that is gone', new AnswerError('x', { mayVolumeExist: false }), { state: 'final', isAnswered: true }],
    [
      'a volume that may exist',
      new AnswerError('x', { mayVolumeExist: true }),
      { state: 'background', isAnswered: true },
    ],
    ['an error before the call', new ProvisionError('x'), { state: 'unchanged', isAnswered: false }],
    [
      'an error that asks for another node',
      new ProvisionError('x', { reschedule: true }),
      { state: 'reschedule', isAnswered: false },
    ],
    ['any other error', new Error('x'), { state: 'unchanged', isAnswered: false }],
  ])('`creationFailure` decides about retries after %s', (_, error, expected) => {
    expect(creationFailure(error, FIRST)).toMatchObject({ isInfeasible: false, ...expected })
  })

  it('AlreadyExists leaves the outcome of an earlier call uncertain', () => {
    expect(creationFailure(rpc('AlreadyExists'), { ...FIRST, isRepeated: true }).state).toBe('background')
  })

  it('the failure of a creation lists the objects that its ProvisionError waits for', () => {
    const waitsFor = [{ kind: 'secret', name: 'ns/a' }] as const
    expect(creationFailure(new ProvisionError('x', { waitsFor }), FIRST).waitsFor).toBe(waitsFor)
  })
})
