import { expect, test } from '@jest/globals'
import type { ResizerClaim } from '../caches/claim.ts'
import { claimTraceSubject } from './pending.ts'

const CLAIM = { key: 'ns/data', volumeName: 'pv-1' } as ResizerClaim
const NAMES = { 'k8s.namespace.name': 'ns', 'k8s.persistentvolumeclaim.name': 'data' }

test.each([
  ['a claim', CLAIM, { ...NAMES, 'k8s.persistentvolume.name': 'pv-1' }, undefined],
  [
    'a claim with a trace',
    { ...CLAIM, traceparent: '00-1-2-01' },
    { ...NAMES, 'k8s.persistentvolume.name': 'pv-1' },
    '00-1-2-01',
  ],
  ['a claim that is gone', undefined, NAMES, undefined],
])('the trace of a run over %s names the operation and its objects', (_, claim, names, traceparent) => {
  const subject = claimTraceSubject({ get: () => claim as ResizerClaim | undefined }, 'expand')
  expect(subject('ns/data')).toEqual({ operation: 'expand', names, traceparent })
})
