/** What a person can do on the page: the forms, and what the server takes. */

export type FieldKind = 'name' | 'claim' | 'pod' | 'node' | 'size' | 'class' | 'seconds' | 'number' | 'choice'

export interface Field {
  readonly name: string
  readonly label: string
  readonly kind: FieldKind
  readonly value?: string
  readonly optional?: true
  readonly choices?: readonly string[]
}

export interface DeedForm {
  readonly title: string
  readonly button: string
  /** Of a button of its own, not of a form among the others. */
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
  'does it, and the answer is lost',
  'answers 3 seconds later',
] as const
export type FaultText = (typeof FAULTS)[number]

const claim: Field = { name: 'claim', label: 'Claim', kind: 'claim', value: 'data-1' }
const node: Field = { name: 'node', label: 'Node', kind: 'node', value: 'node-1' }

export const DEEDS = {
  makeClaim: {
    title: 'Make a claim',
    button: 'Make the claim',
    fields: [
      { name: 'name', label: 'Name', kind: 'name', value: 'data-1' },
      { name: 'size', label: 'Size', kind: 'size', value: '1Gi' },
      { name: 'class', label: 'Class', kind: 'class', value: 'devcluster', optional: true },
    ],
  },
  makePod: {
    title: 'Make a pod',
    button: 'Make the pod',
    fields: [
      { name: 'name', label: 'Name', kind: 'name', value: 'app' },
      claim,
      { ...node, label: 'Node, or none', value: '', optional: true },
    ],
  },
  raiseClaim: {
    title: 'Raise a claim',
    button: 'Raise it',
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
  uncordonNode: { title: 'Let pods come to a node again', button: 'Uncordon it', fields: [node] },
  breakCalls: {
    title: 'Break calls to the driver',
    button: 'Break them',
    fields: [
      { name: 'method', label: 'Call', kind: 'choice', choices: METHODS, value: 'ControllerPublishVolume' },
      { name: 'how', label: 'How', kind: 'choice', choices: FAULTS, value: FAULTS[0] },
      { name: 'times', label: 'How often', kind: 'number', value: '5' },
    ],
  },
  mendCalls: { title: 'Break nothing any more', button: 'Mend the driver', fields: [] },
  killDriver: {
    title: 'Kill the driver',
    button: 'Kill it',
    fields: [{ name: 'seconds', label: 'Back after seconds', kind: 'seconds', value: '5' }],
  },
  killSidecar: {
    title: 'Kill a sidecar',
    button: 'Kill it',
    fields: [
      {
        name: 'sidecar',
        label: 'Sidecar',
        kind: 'choice',
        choices: ['csi-attacher', 'csi-resizer'],
        value: 'csi-attacher',
      },
    ],
  },
  tellChapter: {
    title: 'Tell a chapter',
    button: 'Tell it',
    hidden: true,
    fields: [{ name: 'number', label: 'Number', kind: 'number' }],
  },
} as const satisfies Readonly<Record<string, DeedForm>>

export type DeedName = keyof typeof DEEDS
export const DEED_NAMES = Object.keys(DEEDS) as readonly DeedName[]

export function formOf(name: DeedName): DeedForm {
  return DEEDS[name]
}
