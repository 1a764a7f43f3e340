/** The table of the actions of the page. The page shows a form for each, and the server refuses other actions. */

export type FieldKind = 'name' | 'claim' | 'pod' | 'node' | 'size' | 'class' | 'seconds' | 'number' | 'choice'

/** One field of a form of the page. */
export interface Field {
  readonly name: string
  readonly label: string
  readonly kind: FieldKind
  readonly value?: string
  /** The meaning of an empty field. Undefined if the field is required. */
  readonly optional?: string
  readonly choices?: readonly string[]
}

/** The form of an action on the page. */
export interface ActionForm {
  readonly title: string
  readonly button: string
  /** True if the action has no form in the list of forms, but a button elsewhere on the page. */
  readonly hidden?: true
  readonly fields: readonly Field[]
}

const METHODS = [
  'ControllerPublishVolume',
  'ControllerUnpublishVolume',
  'CreateVolume',
  'DeleteVolume',
  'ControllerExpandVolume',
  'ControllerModifyVolume',
  'NodeStageVolume',
  'NodeUnstageVolume',
  'NodePublishVolume',
  'NodeUnpublishVolume',
  'NodeExpandVolume',
]

export const FAULTS = [
  'fails with Internal',
  'fails with ResourceExhausted',
  'succeeds, but the answer is lost',
  'answers 3 seconds later',
] as const

const claim: Field = { name: 'claim', label: 'Claim', kind: 'claim', value: 'data-1' }
const node: Field = { name: 'node', label: 'Node', kind: 'node', value: 'node-1' }

export const ACTIONS = {
  createClaim: {
    title: 'Create a claim',
    button: 'Create the claim',
    fields: [
      { name: 'name', label: 'Name', kind: 'name', value: 'data-1' },
      { name: 'size', label: 'Size', kind: 'size', value: '1Gi' },
      { name: 'class', label: 'Class', kind: 'class', value: 'devcluster', optional: 'the default class' },
    ],
  },
  createPod: {
    title: 'Create a pod',
    button: 'Create the pod',
    fields: [
      { name: 'name', label: 'Name', kind: 'name', value: 'app' },
      claim,
      { ...node, value: '', optional: 'any node' },
    ],
  },
  expandClaim: {
    title: 'Expand a claim',
    button: 'Expand it',
    fields: [claim, { name: 'size', label: 'Size', kind: 'size', value: '2Gi' }],
  },
  changeClass: {
    title: 'Change the class of a claim',
    button: 'Change it',
    fields: [claim, { name: 'class', label: 'VolumeAttributesClass', kind: 'name', value: 'gold' }],
  },
  deletePod: {
    title: 'Delete a pod',
    button: 'Delete the pod',
    fields: [{ name: 'pod', label: 'Pod', kind: 'pod', value: 'app' }],
  },
  deleteClaim: { title: 'Delete a claim', button: 'Delete the claim', fields: [claim] },
  drainNode: { title: 'Drain a node', button: 'Drain it', fields: [node] },
  uncordonNode: { title: 'Uncordon a node', button: 'Uncordon it', fields: [node] },
  injectFaults: {
    title: 'Inject faults into driver calls',
    button: 'Inject them',
    fields: [
      { name: 'method', label: 'Call', kind: 'choice', choices: METHODS, value: 'ControllerPublishVolume' },
      { name: 'how', label: 'Fault', kind: 'choice', choices: FAULTS, value: FAULTS[0] },
      { name: 'times', label: 'Number of calls', kind: 'number', value: '5' },
    ],
  },
  clearFaults: { title: 'Clear faults', button: 'Clear them', fields: [] },
  killDriver: {
    title: 'Kill the driver',
    button: 'Kill it',
    fields: [{ name: 'seconds', label: 'Restart after seconds', kind: 'seconds', value: '5' }],
  },
  killSidecar: {
    title: 'Kill a sidecar',
    button: 'Kill it',
    fields: [
      {
        name: 'sidecar',
        label: 'Sidecar',
        kind: 'choice',
        choices: ['csi-attacher', 'csi-resizer', 'csi-provisioner', 'csi-snapshotter'],
        value: 'csi-attacher',
      },
    ],
  },
  runStep: {
    title: 'Run a step',
    button: 'Run it',
    hidden: true,
    fields: [{ name: 'number', label: 'Number', kind: 'number' }],
  },
} as const satisfies Readonly<Record<string, ActionForm>>

export type ActionName = keyof typeof ACTIONS
export const ACTION_NAMES = Object.keys(ACTIONS) as readonly ActionName[]

export function formOf(name: ActionName): ActionForm {
  return ACTIONS[name]
}
