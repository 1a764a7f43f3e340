import { describe, expect, it } from '@jest/globals'
import type { ProxiedCall } from '../proxy/call.ts'
import { answered, created } from '../testing/proxied-calls.ts'
import { Judge } from './judge.ts'
import type { PromiseName } from './promises.ts'

const about = { volumeId: 'vol', stagingTargetPath: '/data/s' }
const CALLS = [
  created('pvc', 'vol', 1n),
  created('other', 'vol-2', 1n),
  answered('ControllerPublishVolume', { volumeId: 'vol', nodeId: 'a' }, { code: 13, message: 'full' }),
  answered('ControllerPublishVolume', { volumeId: 'vol', nodeId: 'a' }, { code: 13, message: 'full' }),
  answered('NodeStageVolume', about),
  answered('Probe', {}),
]

function judgeOf(calls: readonly (readonly ProxiedCall[])[] = CALLS): Judge {
  const judge = new Judge({ startedAt: 0, shortened: (path) => path.replace('/data/', '') })
  for (const call of calls.flat()) judge.see(call)
  return judge
}

function toldWith(promise: PromiseName, volume: string | undefined = 'vol'): readonly string[] {
  const judge = judgeOf()
  judge.find({ promise, about: volume, text: 'it is wrong' })
  return (judge.findings[0]?.calls ?? []).map((line) => line.replace(/^\+[\d.]+ s /, ''))
}

describe('what was found', () => {
  it('is told with the calls about its volume, what failed alike in one line', () => {
    expect(toldWith('idempotence')).toEqual([
      'CreateVolume pvc -> OK vol, 1 ms',
      'ControllerPublishVolume vol a -> Internal "full", 1 ms, 2 times',
      'NodeStageVolume vol s -> OK, 1 ms',
    ])
  })

  it('is told without calls of nodes where they have no part in it', () => {
    expect(toldWith('kept').join()).not.toContain('Node')
  })

  it('is told with those of nodes where a volume has no others', () => {
    const judge = judgeOf([answered('NodePublishVolume', { volumeId: 'csi-1', targetPath: '/data/t' })])
    judge.find({ promise: 'ended', about: 'csi-1', text: 'it is left' })
    expect(judge.findings[0]?.calls).toHaveLength(1)
  })

  it('is told once', () => {
    const judge = judgeOf()
    for (let times = 2; times > 0; times -= 1) judge.find({ promise: 'kept', about: 'vol', text: 'it is gone' })
    expect(judge.findings).toHaveLength(1)
  })

  it("has the driver's last words about a volume", () => {
    expect(judgeOf().lastWords('vol')).toBe('ControllerPublishVolume: Internal "full"')
    expect(judgeOf().lastWords('vol-2')).toBeUndefined()
  })
})
