import { GENERIC_GATES } from '@csi-sidecars/sidecar'
import { APPS, type AppName, EACH, FLAG_KEYS, type FlagKey, GATES, PROCESS } from './flag-keys.ts'
import { documentedValues } from './value-comments.ts'

const HEAD = `{{/*
Made from the flags of the sidecars: npm exec -- node tools/docs/main.ts

Each template takes a dict: \`section\` is the part of the values, \`prefix\` is put before the names. _args.tpl says when.
*/}}
`

/** Returns templates/_flags.tpl: the arguments of every flag whose value is passed unchanged. */
export function flagTemplates(keys: readonly FlagKey[] = FLAG_KEYS): string {
  const plain = keys.filter(({ template }) => template === undefined)
  const sections = [...new Set(plain.map(({ section }) => section))].sort((a, b) => rank(a) - rank(b))
  const ofApps = APPS.flatMap((app) => [gatesTemplate(app), ofProcessTemplate(app)])
  return [HEAD, ...sections.map((section) => template(section, plain)), ...ofApps].join('\n')
}

/** Returns a template with the names of the feature gates that the sidecar accepts. */
function gatesTemplate(app: AppName): string {
  const { sidecarGates, permanent } = GATES[app]
  return jsonTemplate(`gates.${app}`, {
    own: Object.keys(sidecarGates).sort(),
    others: [...Object.keys(permanent), ...Object.keys(GENERIC_GATES)].sort(),
  })
}

/** Reports whether a process that runs several sidecars reads this key in the section of a sidecar. */
function isReadByOneProcess(app: AppName, name: string): boolean {
  return (
    ['enabled', 'additionalClusterRoleRules', 'leaderElection'].includes(name) ||
    FLAG_KEYS.some((key) => key.name.split('.')[0] === name && [app, EACH].includes(key.section))
  )
}

/** Returns a template with the defaults of a sidecar's process settings, because templates cannot read values.yaml. */
function ofProcessTemplate(app: AppName): string {
  const values = documentedValues()
    .map((value) => ({ ...value, path: value.key.split('.') }))
    .filter(({ path: [section, name] }) => section === app && name !== undefined && !isReadByOneProcess(app, name))
    .filter(({ isSection }) => !isSection)
  return jsonTemplate(
    `ofProcess.${app}`,
    Object.fromEntries(values.map(({ path, default: value }) => [path.slice(1).join('.'), value])),
  )
}

function jsonTemplate(name: string, value: unknown): string {
  return `{{- define "csi-sidecars.${name}" -}}\n${JSON.stringify(value, null, 2)}\n{{- end }}\n`
}

/** Returns the position of a section. Sections about one sidecar or process come first. */
function rank(section: string): number {
  const index = [...APPS, EACH, PROCESS].indexOf(section)
  return index < 0 ? APPS.length + 2 : index
}

function template(section: string, keys: readonly FlagKey[]): string {
  const lines = keys.filter((key) => key.section === section).map(argument)
  return `{{- define "csi-sidecars.flags.${section}" -}}\n${lines.join('\n')}\n{{- end }}\n`
}

function argument(key: FlagKey): string {
  return `{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "${key.flag.name}" "value" ${expressionOf(key)}) -}}`
}

function expressionOf({ flag, name, testValue }: FlagKey): string {
  const value = `.section.${name}`
  if (flag.type === 'gates') return `(include "csi-sidecars.pairs" (dict "map" ${value} "between" "="))`
  if (flag.type === 'labels') return `(include "csi-sidecars.pairs" (dict "map" ${value} "between" ":"))`
  return Array.isArray(testValue) ? `(join "," ${value})` : value
}
