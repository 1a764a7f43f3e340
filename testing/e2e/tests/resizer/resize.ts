import { ok } from 'node:assert'
import type { VolumeParts } from '../../harness/api/objects.ts'
import { testsOf } from '../../harness/test.ts'
import { secretCreated } from '../../rows/actions.ts'
import { kubeletFinished, raised, resizerRows } from '../../rows/resizer/rows.ts'
import { type BoundParts, expands, GI, grown, NO_NODE_STEP, NODE_STEP, scene } from '../../rows/resizer/scene.ts'

const row = resizerRows('resize', import.meta.filename)
const KUBELET = { answers: { ControllerExpandVolume: [NODE_STEP] } }

row('an expansion patches the claim, calls the driver, patches volume and claim, and records events', {
  setup: { args: ['-v=0'] },
  logs: [
    '"Event occurred" object="default/',
    ' fieldPath="" kind="PersistentVolumeClaim" apiVersion="v1" type="Normal" reason="Resizing" message="External resizer is resizing volume ',
  ],
  steps: [raised()],
})
row('an expansion that the kubelet must finish leaves the status NodeResizePending', {
  setup: KUBELET,
  steps: [raised()],
})
row('the PV loses pre-resize-capacity after the kubelet has resized the volume', {
  alone: 'cluster',
  setup: KUBELET,
  steps: [raised(), kubeletFinished('2Gi')],
})
row('the annotation pre-resize-capacity is not written to the PV with AnnotateFsResize=false', {
  setup: { ...KUBELET, args: ['--feature-gates=AnnotateFsResize=false'] },
  steps: [raised()],
})
row('an expansion removes the annotation node-expansion-not-required from the claim', {
  setup: KUBELET,
  steps: [raised({ of: { claim: { metadata: { annotations: { [NO_NODE_STEP]: 'true', other: 'kept' } } } } })],
})
row('an expansion keeps the conditions and the status fields of other controllers', {
  steps: [
    raised({
      of: {
        status: {
          conditions: [{ type: 'Foreign', status: 'True', reason: 'r', message: 'm' }],
          allocatedResources: { 'example.com/x': '5' },
          allocatedResourceStatuses: { 'example.com/x': 'NodeResizePending' },
        },
      },
    }),
  ],
})
row('claim and volume show the size that the driver returns, if it exceeds the requested size', {
  setup: { answers: { ControllerExpandVolume: [{ reply: { capacityBytes: BigInt(3 * GI + 1024) } }] } },
  steps: [raised()],
})
row('for a driver that expands only on nodes, the resizer makes no driver call and records the requested size', {
  logs: ['"The CSI driver supports node resize only, using trivial resizer to handle resize requests"'],
  setup: { controller: [], node: ['EXPAND_VOLUME'] },
  steps: [raised({ to: '2G' })],
})

const SIZES = ['2Gi', '1536Mi', '1.5Gi', '2G', '2000000001', '2e9', '1Ti']
row('the driver gets sizes in bytes, and the objects show canonical quantities', {
  steps: [...SIZES.map((to, index) => raised({ to, of: { suffix: `-${index}` } }))],
})

interface RequestRow {
  readonly pv: VolumeParts
  readonly claim?: NonNullable<BoundParts['claim']>
  readonly capable?: boolean
}

const REQUESTS: Readonly<Record<string, RequestRow>> = {
  'file system type and mount options': { pv: { mountOptions: ['z', 'a'], csi: { fsType: 'xfs' } } },
  'a block volume': {
    pv: { volumeMode: 'Block', mountOptions: ['ro'], csi: { fsType: 'xfs' } },
    claim: { volumeMode: 'Block' },
  },
  ReadWriteMany: { pv: { accessModes: ['ReadWriteMany'] }, claim: { accessModes: ['ReadWriteMany'] } },
  'ReadWriteOnce with SINGLE_NODE_MULTI_WRITER': { pv: {}, capable: true },
  'ReadWriteOncePod with SINGLE_NODE_MULTI_WRITER': {
    pv: { accessModes: ['ReadWriteOncePod'] },
    claim: { accessModes: ['ReadWriteOncePod'] },
    capable: true,
  },
}
for (const [label, { pv, claim = {}, capable = false }] of Object.entries(REQUESTS)) {
  row(`the expansion request contains ${label}`, {
    setup: { controller: ['EXPAND_VOLUME', ...(capable ? (['SINGLE_NODE_MULTI_WRITER'] as const) : [])] },
    steps: [raised({ of: { pv, claim } })],
  })
}

row('each expansion reads the Secret and sends it', {
  steps: [
    secretCreated({ a: 'b' }),
    raised({
      of: (t) => ({ pv: { csi: { controllerExpandSecretRef: { name: t.name('secret'), namespace: t.namespace } } } }),
    }),
  ],
})

const test = testsOf('resizer', 'resize')

for (const [args, seconds] of [
  [[], 10],
  [['--resize-timeout=33s'], 33],
  [['--timeout=44s'], 44],
  [['--timeout=44s', '--resize-timeout=33s'], 44],
  [['--timeout=10s', '--resize-timeout=33s'], 10],
] as const) {
  test(`the deadline of an expansion with ${args.join(' ') || 'no flag'} is ${seconds} s`, async (t) => {
    const at = await scene(t, { args })
    await grown(t)
    const { timeoutMs = 0 } = expands(at)[0] ?? {}
    ok(timeoutMs > seconds * 1000 - 2500 && timeoutMs <= seconds * 1000 + 50, `${timeoutMs}`)
  })
}
