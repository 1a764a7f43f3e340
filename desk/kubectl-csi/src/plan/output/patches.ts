import { yamlText } from '@csi-sidecars/kube-client'
import { parseImage } from '../containers/image.ts'
import { type HelmRelease, helmValues } from '../patches/helm.ts'
import type { JsonPatch } from '../patches/json-patch.ts'
import type { SwapPlan } from '../plan.ts'
import type { Workload } from '../workload.ts'

/** Returns the `kubectl patch` command. Each operation has a line of its own. */
export function kubectlPatch({ kind, namespace, name }: Workload, patch: JsonPatch): string {
  const quoted = shellQuoted(linesOf(patch).join('\n'))
  return `kubectl --namespace ${namespace} patch ${kind.toLowerCase()} ${name} --type=json --patch=${quoted}`
}

/** Returns a patch as JSON with one operation in a line. JSON is YAML, too. */
function linesOf(patch: JsonPatch): readonly string[] {
  const lines = patch.map((operation, at) => `${asciiOf(JSON.stringify(operation))}${at < patch.length - 1 ? ',' : ''}`)
  return ['[', ...lines, ']']
}

/** Escapes characters that change the order of text on a terminal. */
function asciiOf(json: string): string {
  return json.replace(
    /\p{Bidi_Control}/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Quotes a text for a POSIX shell. */
function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Returns the item of `patches` in a kustomization. The tests of a live object are left out: a manifest has no UID. */
export function kustomizePatch({ kind, name }: Workload, patch: JsonPatch): string {
  const operations = patch.filter(({ path }) => !path.startsWith('/metadata/'))
  const target = yamlText({ group: 'apps', version: 'v1', kind, name }, 0).trim()
  const lines = linesOf(operations).map((line) => `      ${line}`)
  return ['patches:', `  - target: ${target}`, '    patch: |-', ...lines].join('\n')
}

/** Returns the values of the chart that swap the images. Undefined if they are not known, or no chart owns the object. */
export function valuesOfChart({ helm, containers }: SwapPlan): string | undefined {
  if (helm === undefined) return undefined
  const images = containers.flatMap(({ identity, swappedTo }) => {
    if (identity.kind !== 'sidecar' || swappedTo === undefined) return []
    const { repository, tag = '' } = parseImage(swappedTo)
    return [{ sidecar: identity.sidecar, repository, tag }]
  })
  const values = helmValues(helm.chart, images)
  return values === undefined ? undefined : yamlText(values)
}

/** Returns the command that applies values to a release. `<chart>` stands for the chart, whose address Helm does not keep. */
export function helmUpgrade({ release, namespace, chart = 'chart' }: HelmRelease): string {
  return `helm upgrade ${release} <${chart}> --namespace ${namespace} --reset-then-reuse-values --values values.yaml`
}
