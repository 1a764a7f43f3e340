import { type Flag, type GateTable, STANDARD_FLAGS } from '@csi-sidecars/sidecar'
import { PREVIEWS, SIDECARS } from '@csi-sidecars/sidecars'
import { code, table } from './markdown.ts'

const OF_ALL =
  'automaxprocs csi-address feature-gates http-endpoint kube-api-burst kube-api-qps kubeconfig leader-election ' +
  'leader-election-labels leader-election-lease-duration leader-election-namespace leader-election-renew-deadline ' +
  'leader-election-retry-period log-flush-frequency log-json-info-buffer-size log-json-split-stream ' +
  'log-text-info-buffer-size log-text-split-stream logging-format metrics-address metrics-path retry-interval-max ' +
  'retry-interval-start timeout v version vmodule'

/** The flags in the `--help` of the Go sidecars. A test compares them with the Go sidecars if these are built. */
export const ORIGINAL_FLAGS: Readonly<Record<string, readonly string[]>> = {
  attacher: `${OF_ALL} default-fstype max-entries max-grpc-log-length reconcile-sync resync worker-threads`.split(' '),
  provisioner:
    `${OF_ALL} capacity-for-immediate-binding capacity-ownerref-level capacity-poll-interval capacity-threads cloning-protection-threads controller-publish-readonly default-fstype enable-capacity enable-pprof extra-create-metadata immediate-topology kube-api-capacity-burst kube-api-capacity-qps master node-deployment node-deployment-base-delay node-deployment-immediate-binding node-deployment-max-delay prevent-volume-mode-conversion snapshot-orphan-sweep-interval strict-topology volume-name-prefix volume-name-uuid-length worker-threads`.split(
      ' ',
    ),
  snapshotter:
    `${OF_ALL} extra-create-metadata groupsnapshot-name-prefix groupsnapshot-name-uuid-length node-deployment resync-period snapshot-name-prefix snapshot-name-uuid-length worker-threads`.split(
      ' ',
    ),
  resizer:
    `${OF_ALL} extra-modify-metadata handle-volume-inuse-error master modify-timeout resize-timeout resync-period workers`.split(
      ' ',
    ),
}

interface SidecarFlags {
  readonly flags: readonly Flag[]
  readonly gates: GateTable
}

/** Returns the table of flags and values that the Go sidecars refuse. They must be removed before a rollback. */
export function rollbackTable(): string {
  const all = unknownNames(STANDARD_FLAGS, Object.values(ORIGINAL_FLAGS).flat())
  const rows = [...SIDECARS, ...PREVIEWS].flatMap(({ app, value }) => rowsOf(app, value))
  return table(['of', 'remove'], [['all', listOf(all)], ...rows])
}

function rowsOf(app: string, { flags, gates }: SidecarFlags): readonly (readonly string[])[] {
  const known = ORIGINAL_FLAGS[app]
  if (known === undefined) throw new Error(`the flags of the original ${app} are not known`)
  const permanent = Object.keys(gates.permanent).map(code)
  const unknown = unknownNames(flags, known)
  return [
    ...(unknown.length === 0 ? [] : [[app, listOf(unknown)]]),
    ...(permanent.length === 0 ? [] : [[`${app}, in \`--feature-gates\``, permanent.join(', ')]]),
  ]
}

/** Returns the names and aliases of flags that are not in `known`. */
function unknownNames(flags: readonly Flag[], known: readonly string[]): readonly string[] {
  return flags.flatMap(({ name, aliases = [] }) => [name, ...aliases]).filter((name) => !known.includes(name))
}

function listOf(names: readonly string[]): string {
  return names.map((name) => code(`--${name}`)).join(', ')
}
