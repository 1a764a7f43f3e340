import { expect, it } from '@jest/globals'
import { awaitedBy, causesFirst } from './chain.ts'
import type { ClaimContext, PodState, WaitingAttachment } from './claim-context.ts'
import type { ObjectWait } from './wait.ts'

const pod = (name: string, nodeName = ''): PodState => ({
  key: `default/${name}`,
  name,
  nodeName,
  deleting: false,
  phase: 'Pending',
})

const attachment = (key: string, nodeName: string): WaitingAttachment => ({
  key,
  nodeName,
  deleting: false,
  attached: true,
  attachError: undefined,
  detachError: undefined,
})

const context: ClaimContext = {
  claimKey: 'default/data',
  claim: {
    name: 'data',
    deleting: false,
    phase: 'Pending',
    className: undefined,
    volumeName: '',
    request: '1Gi',
    capacity: undefined,
    resizeStatus: undefined,
    attributesClass: '',
    currentAttributesClass: undefined,
  },
  volume: undefined,
  attachments: [attachment('va-1', 'node-1'), attachment('va-2', 'node-2')],
  pods: [pod('web'), pod('old', 'node-2')],
  attaches: true,
  nameOnNodes: undefined,
  node: () => undefined,
  failing: () => undefined,
  warning: () => undefined,
}

const ofClaim = (reason: ObjectWait['reason'], names?: readonly string[]): ObjectWait => ({
  object: { kind: 'claim', name: 'data' },
  reason,
  on: 'you',
  ...(names && { names }),
})
const ofPod = (reason: ObjectWait['reason'], node?: string, name = 'web'): ObjectWait => ({
  object: { kind: 'pod', name },
  reason,
  on: 'scheduler',
  ...(node && { node }),
})

it.each<[name: string, wait: ObjectWait, awaited: readonly string[]]>([
  ['a pod without a volume awaits its claim', ofPod('PodWithoutVolume'), ['claim data']],
  ['a claim whose class waits for a pod awaits the pods without a node', ofClaim('ConsumerNotScheduled'), ['pod web']],
  ['a claim in deletion awaits the pods that use it', ofClaim('ClaimInUse', ['old']), ['pod old']],
  [
    'a pod whose volume is still detached from another node awaits the attachment to that node',
    ofPod('DetachFails', 'node-2'),
    ['attachment va-2'],
  ],
  ['a claim without a class awaits no other object', ofClaim('NoClass'), []],
  ['a pod that fits on no node awaits no other object', ofPod('NoNodeFits'), []],
])('%s', (_, wait, awaited) => {
  expect(awaitedBy(wait, context).map(({ kind, name }) => `${kind} ${name}`)).toEqual(awaited)
})

const reasons = (...waits: readonly ObjectWait[]) => causesFirst(waits, context).map(({ reason }) => reason)

it('each wait is listed after the waits that it depends on, and independent waits keep their order', () => {
  expect(reasons(ofPod('PodWithoutVolume'), ofClaim('NoClass'))).toEqual(['NoClass', 'PodWithoutVolume'])
  expect(reasons(ofClaim('ConsumerNotScheduled'), ofPod('NoNodeFits'))).toEqual(['NoNodeFits', 'ConsumerNotScheduled'])
  expect(reasons(ofClaim('ClaimInUse', ['old']), ofPod('Mounting'), ofPod('PodEnding', 'node-2', 'old'))).toEqual([
    'Mounting',
    'PodEnding',
    'ClaimInUse',
  ])
})

it('waits that depend on each other in a circle keep their order', () => {
  expect(reasons(ofClaim('ConsumerNotScheduled'), ofPod('PodWithoutVolume'))).toEqual([
    'ConsumerNotScheduled',
    'PodWithoutVolume',
  ])
})
