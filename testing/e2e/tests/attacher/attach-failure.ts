import { CSI_NODES, PERSISTENT_VOLUMES, SECRETS, VOLUME_ATTACHMENTS } from '@csi-sidecars/kube-types'
import { refusal } from '../../harness/api/gate.ts'
import { csiNode } from '../../harness/api/objects.ts'
import { ETCD_TIRED } from '../../harness/api/write-faults.ts'
import { answering, deleted, failure, OK, refusing, reported, secretCreated, waiting } from '../../rows/actions.ts'
import {
  attach,
  attacherRows,
  attachmentCreated,
  type RowScene,
  touched,
  volumeCreated,
  WITH_SECRET,
} from '../../rows/attacher/rows.ts'
import type { Action, Step } from '../../rows/row.ts'

const row = attacherRows('attach fails', import.meta.filename)

const QUICK = ['--retry-interval-start=100ms', '--retry-interval-max=100ms']
const SLOW = ['--retry-interval-start=1h', '--retry-interval-max=1h']

const nodeCreated: Action<unknown> = {
  name: 'create CSINode bare',
  run: async (t) => {
    const node = csiNode(t.name('bare'), { 'other.example.com': 'x' })
    await t.received(CSI_NODES, await t.create(CSI_NODES, node))
  },
}

/** Failures before the call to the driver. After each of them, the VolumeAttachment does not have our finalizer. */
const BEFORE_THE_CALL: Readonly<Record<string, readonly Step<RowScene>[]>> = {
  'the PV is missing': [attachmentCreated()],
  'the PV is being deleted': [
    volumeCreated({ metadata: { finalizers: ['example.com/keep'] } }),
    deleted(PERSISTENT_VOLUMES, 'pv'),
    attachmentCreated(),
  ],
  'the PV is neither CSI nor migrated': [attach({ pv: { csi: null, hostPath: { path: '/x' } } })],
  'the PV has ReadOnlyMany and ReadWriteOnce': [attach({ pv: { accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] } })],
  'the secret is missing': [attach(WITH_SECRET)],
  'the CSINode is missing': [attach({ node: 'nowhere' })],
  'the CSINode lacks the driver': [[nodeCreated, attach({ node: 'bare' })]],
}

for (const [label, steps] of Object.entries(BEFORE_THE_CALL)) {
  const logs = ['"Error processing"', 'err="failed to attach: ']
  row(`attachError reports that ${label}, and the driver gets no call`, { logs, steps })
}

for (const [label, plural] of [
  ['PV', 'persistentvolumes'],
  ['VA', 'volumeattachments'],
] as const) {
  const no = refusal(403, 'Forbidden', `${plural} "x" is forbidden: no`)
  row(`the attach fails without a driver call if the API server refuses our finalizer on the ${label}`, {
    steps: [[refusing(`PATCH ${plural}`, no), attach()]],
  })
}

row('ControllerPublishVolume is repeated if the API server refuses the write of the status', {
  logs: ['failed to mark as attached: etcd is tired'],
  setup: {
    args: QUICK,
    answers: { ControllerPublishVolume: [1, 2].map((nth) => ({ reply: { publishContext: { nth: `${nth}` } } })) },
  },
  steps: [
    [refusing('PATCH volumeattachments/status', ETCD_TIRED, { times: 1, containing: '"attached":true' }), attach()],
  ],
})

const CODES = Array.from({ length: 16 }, (_, index) => index + 1)
row('attachError has the message and the errorCode of each gRPC error', {
  setup: { args: SLOW },
  steps: CODES.map((code) => [
    answering({ ControllerPublishVolume: [failure(code, `why ${code}`)] }),
    attach({ suffix: `-${code}` }),
  ]),
})
row('a hanging ControllerPublishVolume call ends at its deadline, and attachError reports DeadlineExceeded', {
  setup: { args: [...SLOW, '--timeout=1s'], answers: { ControllerPublishVolume: ['hang'] } },
  steps: [attach()],
})
row('attachError has no errorCode with MutableCSINodeAllocatableCount=false', {
  setup: {
    args: ['--feature-gates=MutableCSINodeAllocatableCount=false'],
    answers: { ControllerPublishVolume: [failure(8, 'full')] },
  },
  steps: [attach()],
})
row('an errorCode in attachError is removed if the next failure has no errorCode', {
  setup: { args: SLOW, answers: { ControllerPublishVolume: [failure(8, 'full')] } },
  steps: [secretCreated({ a: 'b' }), attach(WITH_SECRET), deleted(SECRETS, 'secret'), touched],
})

// The Go sidecar often tries twice at once. The second retry follows when it knows its own attachError.
const LATER_SUCCESS = ['--retry-interval-start=500ms', '--retry-interval-max=500ms']
const LONG = failure(13, 'é'.repeat(600))
row('a driver error longer than 1024 bytes does not stop the retries of an attach', {
  setup: { args: LATER_SUCCESS, answers: { ControllerPublishVolume: [LONG, LONG, OK] } },
  differs: ['long-errors-stored'],
  steps: [attach()],
})
row('a successful attach clears attachError in the patch that sets `attached`', {
  setup: {
    args: LATER_SUCCESS,
    answers: { ControllerPublishVolume: [failure(13), failure(13), { reply: { publishContext: { a: 'b' } } }] },
  },
  steps: [attach()],
})
row('the attach fails without a driver call if the Secret is not UTF-8', {
  steps: [secretCreated({ key: Buffer.from([0xff, 0xfe]) }), attach(WITH_SECRET)],
})
row('the attacher logs an error and continues to retry if attachError cannot be saved', {
  logs: ['"Failed to save attach error to VolumeAttachment"'],
  setup: { args: QUICK, answers: { ControllerPublishVolume: [failure(13, 'one'), failure(13, 'two'), OK] } },
  steps: [[refusing('PATCH volumeattachments/status', ETCD_TIRED, { containing: '"message"' }), attach()]],
})

const again = attacherRows('attach again', import.meta.filename)
const FAILS = { ControllerPublishVolume: [failure(13)] }

again('a change of the labels of an attachment during the backoff causes a retry at once', {
  setup: { args: SLOW, answers: FAILS },
  steps: [attach(), touched],
})
again('an edit or a removal of attachError by another client causes no retry', {
  logs: ['"Ignoring VolumeAttachment change"'],
  setup: { args: SLOW, answers: FAILS },
  steps: [
    attach(),
    reported(VOLUME_ATTACHMENTS, 'va', { attachError: { message: 'edited', time: '2020-01-01T00:00:00Z' } }),
    reported(VOLUME_ATTACHMENTS, 'va', { attachError: null }),
  ],
})
again('--resync causes a retry of a failed attach before the backoff ends', {
  setup: { args: [...SLOW, '--resync=2s'], answers: FAILS },
  steps: [attach(), waiting],
})
again('--resync=0 causes no retry of a failed attach before the backoff ends', {
  setup: { args: [...SLOW, '--resync=0'], answers: FAILS },
  steps: [attach(), waiting],
})
