import {
  CSI_NODES,
  EVENTS,
  type KubeObject,
  LEASES,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  STORAGE_CLASSES,
  VOLUME_ATTACHMENTS,
} from '@csi-sidecars/kube-types'
import { bound, csiNode, pod, pvc, storageClass, va } from '@csi-sidecars/testkit'
import { describe, expect, it } from '@jest/globals'
import { ask, clientOf, explain, STUCK, type Stored, serving } from './testing/ask.ts'
import { ATTACHER_LEASE, ago, lease, NOW } from './testing/facts.ts'

const { claim, volume } = bound()
const BARE: Stored = [CSI_NODES, csiNode('node-1', { spec: { drivers: [] } })]
const WAITING: Stored = [VOLUME_ATTACHMENTS, va('va-1', { metadata: { creationTimestamp: ago(192) } })]
const WAITING_ELSEWHERE: Stored = [VOLUME_ATTACHMENTS, va('va-2', { spec: { nodeName: 'nowhere' } })]
const SOUND: readonly Stored[] = [
  [PERSISTENT_VOLUMES, volume],
  [PERSISTENT_VOLUME_CLAIMS, claim],
  [STORAGE_CLASSES, storageClass()],
  [PODS, pod('web')],
  [LEASES, lease(ATTACHER_LEASE)],
  [
    VOLUME_ATTACHMENTS,
    va('well', { metadata: { uid: 'x' }, spec: { nodeName: 'node-9' }, status: { attached: true } }),
  ],
]

const HEADLINE =
  'external-attacher of csi.example.com has been waiting 3m12s for driver csi.example.com to register on node node-1'

describe('explain', () => {
  it.each([
    ['va', 'va-1', `VolumeAttachment va-1: ${HEADLINE}.`],
    ['pv', 'pv-1', `PersistentVolume pv-1: ${HEADLINE} (VolumeAttachment va-1).`],
    ['pvc', 'pvc-1', `PersistentVolumeClaim default/pvc-1: ${HEADLINE} (VolumeAttachment va-1).`],
    ['pod', 'web', `Pod default/web: ${HEADLINE} (VolumeAttachment va-1).`],
    ['node', 'node-1', `Node node-1: ${HEADLINE} (VolumeAttachment va-1).`],
  ] as const)('`explain` names the waiting sidecar and its cause for %s %s', async (kind, name, first) => {
    const server = serving([...SOUND, BARE, WAITING])
    expect(await ask(clientOf(server), explain(kind, name))).toMatchObject({ code: 1, first })
    expect(new Set(server.requests.entries.map(({ method }) => method))).toEqual(new Set(['GET']))
  })

  it('`kubectl csi explain` shows the evidence, the advice of docs/operations.md, the certainty, and unread objects', async () => {
    const { text } = await ask(clientOf(serving([...SOUND, BARE, WAITING])), explain('va', 'va-1'))
    expect(text.split('\n\n').map((part) => part.split('\n')[0])).toEqual([
      `VolumeAttachment va-1: ${HEADLINE}.`,
      'Evidence',
      'What to do (docs/operations.md, VolumeAttachments)',
      'Stuck. How sure: certain.',
      'Not seen',
    ])
    expect(text).toContain('  CSINode node-1\n    .spec.drivers[*].name: (none)\n  VolumeAttachment va-1\n')
    expect(text).toContain("the node's driver has not registered with the kubelet.\n  Check the driver's pod")
    expect(text).toContain(
      `  /debug/stuck of ${ATTACHER_LEASE}: its leader pod-a is no pod of namespace storage that could be read\n`,
    )
  })

  it('`kubectl csi explain` explains the attach of a pod before the expansion of its claim', async () => {
    const grows = bound({ claim: { spec: { resources: { requests: { storage: '2Gi' } } } } }).claim
    const others = SOUND.filter(([resource]) => resource !== PERSISTENT_VOLUME_CLAIMS)
    const server = serving([...others, [PERSISTENT_VOLUME_CLAIMS, grows], BARE, WAITING])
    const { text, first } = await ask(clientOf(server), explain('pod', 'web'))
    expect(first).toBe(`Pod default/web: ${HEADLINE} (VolumeAttachment va-1).`)
    expect(text).toContain(
      '\n\nAlso: Pod default/web: external-resizer of csi.example.com waits for an external-resizer',
    )
    expect(await ask(clientOf(server), explain('pvc', 'pvc-1'))).toMatchObject({
      first: expect.stringMatching(/^PersistentVolumeClaim default\/pvc-1: external-resizer/),
    })
  })

  it('`kubectl csi explain` prints error messages without line breaks and control characters', async () => {
    const message = 'mount failed\r\nMounting command: mount\n\u001b[2J\u009b31mred\u202egnp\u2066.exe\u200f'
    const status = { attached: false, attachError: { message, time: ago(5) } }
    const failed: Stored = [VOLUME_ATTACHMENTS, va('va-1', { metadata: { creationTimestamp: ago(192) }, status })]
    const server = serving([...SOUND, [CSI_NODES, csiNode('node-1')], failed])
    const shownMessage = 'mount failed Mounting command: mount [2J 31mred gnp .exe '
    const { first, text } = await ask(clientOf(server), explain('va', 'va-1'))
    expect(first).toContain(`for what the last try has failed for: ${shownMessage}.`)
    expect(text).toContain(`    .status.attachError.message: ${shownMessage}\n`)
    expect((await ask(clientOf(server), STUCK)).text).toContain(
      `waits for what the last try has failed for: ${shownMessage}\n`,
    )
    const { text: json } = await ask(clientOf(server), explain('va', 'va-1'), { json: true })
    expect(json).not.toMatch(/[\p{Bidi_Control}]/u)
    expect(JSON.parse(json).findings[0].waitsFor).toContain(message)
  })

  it('`kubectl csi explain` explains a pending pod by its claim, unless the claim waits for the pod', async () => {
    const unbound = (storageClassName: string): Stored => [
      PERSISTENT_VOLUME_CLAIMS,
      pvc('pvc-1', {
        metadata: { creationTimestamp: ago(60) },
        spec: { storageClassName },
        status: { phase: 'Pending' },
      }),
    ]
    const laterClass: Stored = [STORAGE_CLASSES, storageClass('later', { volumeBindingMode: 'WaitForFirstConsumer' })]
    const web: Stored = [
      PODS,
      pod('web', { metadata: { creationTimestamp: ago(90) }, spec: { nodeName: null }, status: { phase: 'Pending' } }),
    ]
    expect(await ask(clientOf(serving([unbound('none'), web])), explain('pod', 'web'))).toMatchObject({
      first: expect.stringContaining('the claim has been waiting 1m for StorageClass none, which does not exist'),
    })
    expect(await ask(clientOf(serving([unbound('later'), laterClass, web])), explain('pod', 'web'))).toMatchObject({
      first: 'Pod default/web: the pod has been waiting 1m30s for the scheduler to choose a node.',
    })
  })

  it('`kubectl csi explain` prints the same content in JSON with `-o json`', async () => {
    const { text } = await ask(clientOf(serving([...SOUND, BARE, WAITING])), explain('pv', 'pv-1'), { json: true })
    expect(JSON.parse(text)).toMatchObject({
      subject: { kind: 'PersistentVolume', name: 'pv-1' },
      verdict: 'stuck',
      findings: [
        {
          reason: 'NodeWithoutDriver',
          object: { kind: 'VolumeAttachment', name: 'va-1' },
          since: new Date(NOW - 192_000).toISOString(),
          ageSeconds: 192,
          stuck: true,
          sure: 'certain',
          advice: { means: "the node's driver has not registered with the kubelet" },
        },
      ],
    })
  })

  it.each([
    ['va', 'well', 'VolumeAttachment well: nothing is stuck. Volume pv-1 is attached to node node-9.'],
    ['pv', 'pv-1', 'PersistentVolume pv-1: nothing is stuck. It is attached to node-9.'],
    ['pvc', 'pvc-1', 'PersistentVolumeClaim default/pvc-1: nothing is stuck. It has 1Gi as asked for, in pv-1.'],
    ['node', 'node-9', 'Node node-9: nothing is stuck. Volumes attached to it: 1.'],
  ] as const)('`kubectl csi explain` reports that %s %s is well if nothing waits', async (kind, name, first) => {
    expect(await ask(clientOf(serving(SOUND)), explain(kind, name))).toMatchObject({ code: 0, first })
  })

  it.each([
    ['pod', 'Pod default/no'],
    ['pvc', 'PersistentVolumeClaim default/no'],
    ['pv', 'PersistentVolume no'],
    ['va', 'VolumeAttachment no'],
    ['node', 'Node no'],
  ] as const)('`kubectl csi explain` throws for a %s that does not exist', async (kind, title) => {
    await expect(ask(clientOf(serving(SOUND)), explain(kind, 'no'))).rejects.toThrow(`${title} does not exist`)
  })

  it('`kubectl csi explain` reports work that is under way, with exit code 0', async () => {
    const young: Stored = [VOLUME_ATTACHMENTS, va('va-1', { metadata: { creationTimestamp: ago(3) } })]
    const server = serving([...SOUND, [CSI_NODES, csiNode()], young])
    const { code, text } = await ask(clientOf(server), explain('va', 'va-1'))
    expect(code).toBe(0)
    expect(text).toContain('has been waiting 3s for its turn')
    expect(text).toContain('Under way, not stuck yet.')
  })

  it('`kubectl csi explain` lists a refused read, and answers "unknown" if the read was essential', async () => {
    const server = serving(SOUND)
    const refused = { kind: 'answer', code: 403, reason: 'Forbidden', message: 'no' } as const
    server.faults.add({ match: { resource: 'volumeattachments' }, action: refused })
    const { code, text, first } = await ask(clientOf(server), explain('pv', 'pv-1'))
    expect([code, first]).toEqual([2, 'PersistentVolume pv-1: unknown, because not all could be read.'])
    expect(text).toMatch(/\nNot seen\n(?:.*\n)* {2}volumeattachments\.storage\.k8s\.io: no\n/)
  })

  it('`kubectl csi explain` throws if the API server does not know the user', async () => {
    const server = serving(SOUND)
    const action = { kind: 'answer', code: 401, reason: 'Unauthorized', message: 'who?' } as const
    server.faults.add({ match: { resource: 'persistentvolumes' }, action })
    await expect(ask(clientOf(server), explain('pv', 'pv-1'))).rejects.toThrow('who?')
  })
})

describe('stuck', () => {
  const refusedPod: readonly Stored[] = [
    [NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-9' } } as KubeObject],
    [PODS, pod('late', { metadata: { uid: 'uid-late', creationTimestamp: ago(60) }, status: { phase: 'Pending' } })],
    [
      EVENTS,
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { namespace: 'default', name: 'e' },
        involvedObject: { kind: 'Pod', namespace: 'default', name: 'late', uid: 'uid-late' },
        reason: 'FailedAttachVolume',
        message: 'Multi-Attach error for volume "pv-1"',
        firstTimestamp: ago(50),
      } as KubeObject,
    ],
  ]

  it('`kubectl csi stuck` lists waiting objects by reason, such as a pod with a Multi-Attach error', async () => {
    const { code, text } = await ask(clientOf(serving([...SOUND, ...refusedPod])), STUCK)
    expect(code).toBe(1)
    expect(text).toContain('1 object is stuck, the oldest for 1m. More on each: kubectl csi explain.')
    expect(text).toContain(
      'MultiAttach (1)\n  1m      Pod default/late: the attach/detach controller waits for volume pv-1 to be detached from node node-9',
    )
  })

  it('`kubectl csi stuck` lists the oldest objects of each reason as text, and all objects as JSON', async () => {
    const many = Array.from({ length: 25 }, (_, index): Stored => {
      const name = `va-${index}`
      return [VOLUME_ATTACHMENTS, va(name, { metadata: { creationTimestamp: ago(100 + index) } })]
    })
    const server = serving([...SOUND, BARE, ...many])
    const { text } = await ask(clientOf(server), STUCK)
    expect(text).toContain('25 objects are stuck, the oldest for 2m4s.')
    expect(text).toContain('NodeWithoutDriver (25)\n  2m4s    VolumeAttachment va-24:')
    expect(text).toContain('\n  and 5 more, all of them with -o json\n')
    expect(text).not.toContain('va-4:')
    const { items } = JSON.parse((await ask(clientOf(server), STUCK, { json: true })).text) as { items: unknown[] }
    expect(items).toHaveLength(25)
  })

  it('`kubectl csi stuck` says that an awaited object does not exist', async () => {
    const lost: Stored = [VOLUME_ATTACHMENTS, va('va-1', { spec: { source: { persistentVolumeName: 'lost' } } })]
    const { text } = await ask(clientOf(serving([...SOUND, BARE, lost, WAITING_ELSEWHERE])), STUCK)
    expect(text).toContain('waits for PersistentVolume lost, which does not exist')
    expect(text).toContain('waits for node nowhere, which does not exist')
  })

  it('`kubectl csi stuck` and `explain` show the permissions that the leaders lack', async () => {
    const containers = [{ name: 'csi-attacher', image: 'x', args: ['--http-endpoint=:8080'] }]
    const leader: Stored = [
      PODS,
      pod('pod-a', { metadata: { namespace: 'storage' }, spec: { containers, volumes: null } }),
    ]
    const missingPermissions = ['secrets: get', 'volumeattachments.storage.k8s.io/status: patch']
    const client = clientOf(serving([...SOUND, leader]), () => ({ items: [], missingPermissions }))
    const part =
      '\n\nMissing permissions: add these rules to the role of the sidecar\n' +
      missingPermissions.map((rule) => `  storage/${ATTACHER_LEASE}: ${rule}\n`).join('')
    for (const question of [STUCK, explain('pv', 'pv-1')]) {
      const { code, text } = await ask(client, question)
      expect([code, text.includes(part)]).toEqual([0, true])
      expect(JSON.parse((await ask(client, question, { json: true })).text)).toMatchObject({
        missingPermissions: { [`storage/${ATTACHER_LEASE}`]: missingPermissions },
      })
    }
  })

  it('`kubectl csi stuck` says that nothing is stuck, or that not all could be read', async () => {
    expect(await ask(clientOf(serving(SOUND)), STUCK)).toMatchObject({ code: 0, first: 'Nothing is stuck.' })
    const server = serving(SOUND)
    const action = { kind: 'answer', code: 403, reason: 'Forbidden', message: 'no' } as const
    server.faults.add({ match: { resource: 'persistentvolumeclaims' }, action })
    expect(await ask(clientOf(server), STUCK)).toMatchObject({
      code: 2,
      first: 'It is unknown whether anything is stuck, because not all could be read.',
    })
  })
})
