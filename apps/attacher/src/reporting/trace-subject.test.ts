import { expect, test } from '@jest/globals'
import type { Attachment } from '../caches/attachment.ts'
import { attachmentTraceSubject } from './trace-subject.ts'

const VA = { key: 'va-1', pvName: 'pv-1', nodeName: 'node-1', deleting: false } as Attachment
const NAMES = { 'k8s.volumeattachment.name': 'va-1', 'k8s.persistentvolume.name': 'pv-1', 'k8s.node.name': 'node-1' }

test.each([
  ['one that is wanted', VA, { operation: 'attach', names: NAMES, traceparent: undefined }],
  ['one that goes', { ...VA, deleting: true }, { operation: 'detach', names: NAMES, traceparent: undefined }],
  [
    'one that is gone',
    undefined,
    { operation: 'detach', names: { 'k8s.volumeattachment.name': 'va-1' }, traceparent: undefined },
  ],
  [
    'one with its volume inside, and a trace',
    { ...VA, pvName: undefined, traceparent: '00-1-2-01' },
    {
      operation: 'attach',
      names: { 'k8s.volumeattachment.name': 'va-1', 'k8s.node.name': 'node-1' },
      traceparent: '00-1-2-01',
    },
  ],
])('a trace says of %s what is done, and where', (_, va, subject) => {
  expect(attachmentTraceSubject({ get: () => va as Attachment | undefined })('va-1')).toEqual(subject)
})
