import { recordingLogger } from '@csi-sidecars/telemetry/testing'
import { expect, it } from '@jest/globals'
import { structuredLines, textLines } from './lines.ts'

const TARGET = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name: 'c', namespace: 'ns', uid: 'u' }
const TEXT = { type: 'Warning', reason: 'Failed', message: 'say "no"' } as const

it('`structuredLines` logs an event with the pairs of client-go', () => {
  const log = recordingLogger()
  structuredLines(log)(TARGET, TEXT)
  const pairs = { fieldPath: '', kind: 'PersistentVolumeClaim', apiVersion: 'v1', ...TEXT }
  expect(log.lines).toEqual([
    expect.objectContaining({ message: 'Event occurred', pairs: expect.objectContaining(pairs) }),
  ])
})

it('`textLines` logs an event as one line of text', () => {
  const log = recordingLogger()
  textLines(log)({ ...TARGET, resourceVersion: '7' }, TEXT)
  const object = 'Kind:"PersistentVolumeClaim", Namespace:"ns", Name:"c", UID:"u", APIVersion:"v1", ResourceVersion:"7"'
  const line = `Event(v1.ObjectReference{${object}, FieldPath:""}): type: 'Warning' reason: 'Failed' say "no"`
  expect(log.lines).toEqual([expect.objectContaining({ message: line })])
})
