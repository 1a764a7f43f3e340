import {
  CHANGES,
  OLDEST_EXAMINED,
  type Restoration,
  type SidecarName,
  type SwapChange,
} from '@csi-sidecars/kubectl-csi/swap-changes'
import { code, table } from './markdown.ts'

const ORIGINALS: Readonly<Record<SidecarName, string>> = {
  attacher: 'external-attacher',
  provisioner: 'external-provisioner',
  resizer: 'external-resizer',
  snapshotter: 'external-snapshotter',
  livenessprobe: 'livenessprobe',
}

/** Returns a table of the changes for each sidecar, under a heading of its own. */
export function swapChangesTables(): string {
  const sidecars = Object.keys(ORIGINALS) as readonly SidecarName[]
  return sidecars.map((sidecar) => `### ${headingOf(sidecar)}\n\n${changesTable(sidecar)}`).join('\n\n')
}

function headingOf(sidecar: SidecarName): string {
  return sidecar === 'livenessprobe' ? 'Instead of livenessprobe' : `Instead of csi-${sidecar}`
}

function changesTable(sidecar: SidecarName): string {
  const rows = CHANGES.filter((change) => change.sidecar === sidecar).map((change) => [
    sinceText(change),
    `${change.title} (${change.kind})`,
    change.change,
    change.effect,
    change.affects,
    keepText(change.restoration),
  ])
  const oldest = OLDEST_EXAMINED[sidecar]
  return table(
    ['older than', 'change', 'after the swap', 'you see', 'concerns', 'to keep the old way'],
    [...rows, [oldest, '', 'not examined', '', '', '']],
  )
}

/** Returns the version with a link to its changelog. The versions of dangerous changes are bold. */
function sinceText({ since, weight, sidecar, source }: SwapChange): string {
  const repository = `https://github.com/kubernetes-csi/${ORIGINALS[sidecar]}`
  const tag = `v${since}`
  const target =
    source.kind === 'changelog'
      ? `${repository}/blob/master/${source.file}`
      : `${repository}/compare/${source.between[0]}...${source.between[1]}`
  const link = `[${tag}](${target})`
  return weight === 'danger' ? `**${link}**` : link
}

function keepText(restoration: Restoration): string {
  switch (restoration.kind) {
    case 'argument':
      return code(restoration.argument)
    case 'step':
      return restoration.step
    case 'none':
      return 'not possible'
    default:
      return restoration satisfies never
  }
}
