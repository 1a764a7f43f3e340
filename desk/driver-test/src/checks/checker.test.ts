import type { ProxiedCall } from '@csi-sidecars/disturb'
import { answered, created } from '@csi-sidecars/disturb/testing/proxied-calls'
import { describe, expect, it } from '@jest/globals'
import { Checker } from './checker.ts'
import type { CheckName } from './checks.ts'

const nodeRequest = { volumeId: 'vol', stagingTargetPath: '/data/s' }
const CALLS = [
  created('pvc', 'vol', 1n),
  created('other', 'vol-2', 1n),
  answered('ControllerPublishVolume', { volumeId: 'vol', nodeId: 'a' }, { code: 13, message: 'full' }),
  answered('ControllerPublishVolume', { volumeId: 'vol', nodeId: 'a' }, { code: 13, message: 'full' }),
  answered('NodeStageVolume', nodeRequest),
  answered('Probe', {}),
]

function checkerOf(calls: readonly (readonly ProxiedCall[])[] = CALLS): Checker {
  const checker = new Checker({ startedAt: 0, shortened: (path) => path.replace('/data/', '') })
  for (const call of calls.flat()) checker.see(call)
  return checker
}

function callsWith(check: CheckName, volume: string | undefined = 'vol'): readonly string[] {
  const checker = checkerOf()
  checker.report({ check, subjectId: volume, text: 'it is wrong' })
  return (checker.findings[0]?.calls ?? []).map((line) => line.replace(/^\+[\d.]+ s /, ''))
}

describe('Checker', () => {
  it('a finding lists the calls about its volume, and combines equal failures in one line', () => {
    expect(callsWith('idempotence')).toEqual([
      'CreateVolume pvc -> OK vol, 1 ms',
      'ControllerPublishVolume vol a -> Internal "full", 1 ms, 2 times',
      'NodeStageVolume vol s -> OK, 1 ms',
    ])
  })

  it('a finding about the controller service lists no calls of node services', () => {
    expect(callsWith('kept').join()).not.toContain('Node')
  })

  it('a finding about an inline volume lists its node calls', () => {
    const checker = checkerOf([answered('NodePublishVolume', { volumeId: 'csi-1', targetPath: '/data/t' })])
    checker.report({ check: 'ended', subjectId: 'csi-1', text: 'it is left' })
    expect(checker.findings[0]?.calls).toHaveLength(1)
  })

  it('a finding about a volume appears once in the report, with the number of its occurrences', () => {
    const checker = checkerOf([])
    for (const volume of ['vol-1', 'vol-2']) {
      checker.report({
        check: 'kept',
        subjectId: volume,
        text: `volume ${volume} was published to ${volume}-node and is gone`,
      })
    }
    checker.report({ check: 'kept', subjectId: 'vol-1', text: 'volume vol-1 was created and is not listed' })
    expect(checker.findings.map(({ text, occurrences }) => [text, occurrences])).toEqual([
      ['volume vol-1 was published to vol-1-node and is gone', 2],
      ['volume vol-1 was created and is not listed', 1],
    ])
  })
})

describe('Checker.findUnfulfilled', () => {
  const publish = { volumeId: 'vol', nodeId: 'a' }
  const refused = (code: number) => answered('ControllerPublishVolume', publish, { code, message: 'no' })
  const lost = answered('ControllerPublishVolume', publish, { code: undefined, response: undefined })
  const done = answered('ControllerPublishVolume', publish)
  const detached = answered('ControllerUnpublishVolume', publish)
  const made = created('pvc', 'vol', 1n)

  it.each<readonly [string, readonly (readonly ProxiedCall[])[], CheckName, RegExp]>([
    [
      'names the last failed call',
      [made, refused(9)],
      'converges',
      /^pod p waits; ControllerPublishVolume: FailedPrecondition "no"; x ended$/,
    ],
    ['names no call that succeeded later', [made, refused(9), done], 'converges', /^pod p waits; x ended$/],
    [
      'counts as a failed repetition if the call had succeeded before',
      [made, done, refused(6)],
      'idempotence',
      /of vol on a had succeeded, and failed when it was repeated$/,
    ],
    [
      'counts as a failed repetition if the first answer was lost',
      [made, lost, refused(6)],
      'idempotence',
      /of vol on a had got no answer, and failed when it was repeated; /,
    ],
    ['names the call if the driver asks for a retry', [made, lost, refused(10)], 'converges', /Aborted/],
    ['names a call that failed after an undo', [made, done, detached, refused(9)], 'converges', /FailedPrecondition/],
    [
      'counts as a lost volume if the driver does not find the volume',
      [made, refused(5)],
      'kept',
      /^volume vol was created; ControllerPublishVolume: NotFound "no"; pod p waits$/,
    ],
  ])('the finding about an unfulfilled request %s', (_, calls, check, text) => {
    const checker = checkerOf(calls)
    checker.findUnfulfilled({ check: 'converges', subjectId: 'vol', text: 'pod p waits' }, 'x ended')
    expect(checker.findings.at(-1)).toMatchObject({ check, text: expect.stringMatching(text) })
  })

  it('two unfulfilled requests with the same cause become one finding', () => {
    const checker = checkerOf([made, refused(9)])
    for (const text of ['pod p waits', 'claim c waits']) {
      checker.findUnfulfilled({ check: 'converges', subjectId: 'vol', text }, undefined)
    }
    expect(checker.findings).toMatchObject([{ occurrences: 2 }])
  })
})
