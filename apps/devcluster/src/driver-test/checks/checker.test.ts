import { describe, expect, it } from '@jest/globals'
import type { ProxiedCall } from '../../proxy/call.ts'
import { answered, created } from '../../testing/proxied-calls.ts'
import { Checker } from './checker.ts'
import type { CheckName } from './checks.ts'

const about = { volumeId: 'vol', stagingTargetPath: '/data/s' }
const CALLS = [
  created('pvc', 'vol', 1n),
  created('other', 'vol-2', 1n),
  answered('ControllerPublishVolume', { volumeId: 'vol', nodeId: 'a' }, { code: 13, message: 'full' }),
  answered('ControllerPublishVolume', { volumeId: 'vol', nodeId: 'a' }, { code: 13, message: 'full' }),
  answered('NodeStageVolume', about),
  answered('Probe', {}),
]

function checkerOf(calls: readonly (readonly ProxiedCall[])[] = CALLS): Checker {
  const checker = new Checker({ startedAt: 0, shortened: (path) => path.replace('/data/', '') })
  for (const call of calls.flat()) checker.see(call)
  return checker
}

function callsWith(check: CheckName, volume: string | undefined = 'vol'): readonly string[] {
  const checker = checkerOf()
  checker.find({ check, about: volume, text: 'it is wrong' })
  return (checker.findings[0]?.calls ?? []).map((line) => line.replace(/^\+[\d.]+ s /, ''))
}

describe('what was found', () => {
  it('has the calls about its volume, equal failures in one line', () => {
    expect(callsWith('idempotence')).toEqual([
      'CreateVolume pvc -> OK vol, 1 ms',
      'ControllerPublishVolume vol a -> Internal "full", 1 ms, 2 times',
      'NodeStageVolume vol s -> OK, 1 ms',
    ])
  })

  it('has no calls of nodes where they have no part in it', () => {
    expect(callsWith('kept').join()).not.toContain('Node')
  })

  it('has those of nodes where a volume has no others', () => {
    const checker = checkerOf([answered('NodePublishVolume', { volumeId: 'csi-1', targetPath: '/data/t' })])
    checker.find({ check: 'ended', about: 'csi-1', text: 'it is left' })
    expect(checker.findings[0]?.calls).toHaveLength(1)
  })

  it('is recorded once', () => {
    const checker = checkerOf()
    for (let times = 2; times > 0; times -= 1) checker.find({ check: 'kept', about: 'vol', text: 'it is gone' })
    expect(checker.findings).toHaveLength(1)
  })

  it("has the driver's last error message about a volume", () => {
    expect(checkerOf().lastWords('vol')).toBe('ControllerPublishVolume: Internal "full"')
    expect(checkerOf().lastWords('vol-2')).toBeUndefined()
  })
})
