import {
  type FeatureGate,
  FLAG_TYPES,
  type Flag,
  type FlagType,
  flagsOfProcess,
  GENERIC_GATES,
  goDuration,
  prefixableFlags,
  STANDARD_FLAGS,
} from '@csi-sidecars/sidecar'
import { CHOICE, LIVENESSPROBE, SIDECARS, SIDECARS_ON_REQUEST } from '@csi-sidecars/sidecars'
import { type AppName, notInValues, OWN_FLAGS, valueKey } from '../../charts/tools/flag-keys.ts'
import { code, table } from './markdown.ts'

/** Returns the table of flags that all sidecars have, with the key of each flag in the values of the chart. */
export function standardFlags(): string {
  return flagTable(STANDARD_FLAGS.map((flag: Flag) => row(flag, standardKey(flag.name))))
}

const PROCESS_KEYS: Readonly<Record<string, string>> = {
  controllers: [...SIDECARS, ...SIDECARS_ON_REQUEST, { app: LIVENESSPROBE.prefix }]
    .map(({ app }) => code(`${app}.enabled`))
    .join(', '),
  'single-lease': '`sidecars.singleLease`',
}

/** Returns the table of flags of csi-sidecars, the process that runs several sidecars. */
export function processFlagTable(): string {
  return flagTable(flagsOfProcess(CHOICE).map((flag) => row(flag, PROCESS_KEYS[flag.name] ?? '')))
}

/** Returns the table of flags that only one sidecar has. */
export function ownFlags(app: AppName): string {
  return flagTable(OWN_FLAGS[app].map((flag) => row(flag, keyText(valueKey(app, flag.name)))))
}

/** Returns the table of the livenessprobe's flags, which have a prefix in a process with other sidecars. */
export function livenessprobeFlags(): string {
  const { prefix } = LIVENESSPROBE
  return flagTable(
    prefixableFlags(LIVENESSPROBE).map((flag) => {
      const { chart } = flag
      const key = chart !== undefined && 'key' in chart && LIVENESSPROBE.flags.includes(flag) ? chart.key : undefined
      const help = LIVENESSPROBE_HELP[flag.name] ?? flag.help
      return row({ ...flag, name: `${prefix}-${flag.name}`, help }, keyText(key && `${prefix}.${key}`))
    }),
  )
}

/** The meanings of standard flags that differ for the livenessprobe. */
const LIVENESSPROBE_HELP: Readonly<Record<string, string>> = {
  'http-endpoint': 'Address of /healthz and of its metrics, instead of the port.',
  'metrics-address': 'Deprecated: address of its metrics alone.',
  'metrics-path': 'Path of its metrics.',
}

function flagTable(rows: readonly (readonly string[])[]): string {
  return table(['flag', 'default', 'chart value', 'meaning'], rows)
}

function row(flag: Flag, key: string): readonly string[] {
  const names = [flag.name, ...(flag.aliases ?? [])].map((name) => code(`--${name}`)).join(', ')
  const choices = flag.choices === undefined ? '' : ` One of ${flag.choices.map(code).join(', ')}.`
  return [names, defaultText(flag), key, `${flag.help.replaceAll('`', '')}${choices}`]
}

/** Returns the default of a flag. Unlike Go's help, the table also shows defaults such as 0 and false. */
function defaultText(flag: Flag): string {
  if (typeof flag.default === 'boolean' || typeof flag.default === 'number') {
    return code(flag.type === 'duration' ? goDuration(flag.default) : String(flag.default))
  }
  const type = FLAG_TYPES[flag.type] as FlagType<unknown>
  const text = type.defaultText(flag.default)?.replaceAll('"', '') ?? ''
  return text === '' ? '' : code(text)
}

/** Returns the chart key of a standard flag: one key for all sidecars, or a key with `<sidecar>`. */
function standardKey(flag: string): string {
  const reason = notInValues('attacher')[flag]
  if (reason !== undefined) return `(${reason})`
  const [attacher, resizer] = [valueKey('attacher', flag), valueKey('resizer', flag)]
  if (attacher === resizer) return keyText(attacher)
  return keyText(attacher?.replace(/^attacher/, '<sidecar>'))
}

function keyText(key: string | undefined): string {
  return key === undefined ? '' : code(key)
}

/** The purpose of each feature gate. The gate tables of the sidecars contain only the stage of a gate. */
const GATE_MEANINGS: Readonly<Record<string, string>> = {
  CSIVolumeGroupSnapshot:
    'Create and delete group snapshots. Off for this run if the API server does not serve them as v1, or the role does not allow them.',
  CrossNamespaceVolumeDataSource: 'Taken without effect: the data source of a claim has the namespace of the claim.',
  HonorPVReclaimPolicy: 'Always on; taken with either value.',
  Topology:
    'Create volumes where nodes can reach them, if the driver reports `VOLUME_ACCESSIBILITY_CONSTRAINTS`. Set it to false in a cluster without topology keys.',
  'provisioner/VolumeAttributesClass':
    'Send the parameters of the VolumeAttributesClass of a claim. Where it is not set, off on an API server that does not have VolumeAttributesClasses.',
  AnnotateFsResize: 'Note on the PersistentVolume the size before an expansion that the node has yet to finish.',
  MutableCSINodeAllocatableCount:
    'Write the code of a failed attach to `status.attachError.errorCode`. The kubelet then updates the limit of a full node, if the CSIDriver sets `nodeAllocatableUpdatePeriodSeconds`; without it the scheduler learns nothing.',
  RecoverVolumeExpansionFailure: 'Always on; taken with either value.',
  ReleaseLeaderElectionOnExit:
    'On SIGTERM let running calls end, save their results and free the lease, instead of ending at once.',
  VolumeAttributesClass:
    'Modify volumes. Where it is not set, off on an API server that does not have VolumeAttributesClasses.',
}

/** Returns the table of feature gates that have an effect. */
export function featureGates(): string {
  const row = (app: AppName, name: string, gate: { readonly stage: string; readonly default: boolean }) => [
    code(name),
    app,
    gate.stage,
    code(String(gate.default)),
    meaning(app, name),
  ]
  const rows = [...SIDECARS, ...SIDECARS_ON_REQUEST].flatMap(({ app, value: { gates } }) => [
    ...Object.entries<FeatureGate>(gates.sidecarGates).map(([name, gate]) => row(app, name, gate)),
    ...Object.entries<boolean>(gates.permanent).map(([name, value]) =>
      row(app, name, { stage: 'permanent', default: value }),
    ),
  ])
  return table(['gate', 'sidecar', 'stage', 'default', 'meaning'], rows)
}

function meaning(app: string, name: string): string {
  const text = GATE_MEANINGS[`${app}/${name}`] ?? GATE_MEANINGS[name]
  if (text === undefined) throw new Error(`gate ${name} has no description`)
  return text
}

/** Returns one sentence with the feature gates that are accepted without effect. */
export function genericGates(): string {
  return `Accepted without effect: ${Object.keys(GENERIC_GATES).sort().map(code).join(', ')}.`
}
