import { APPS, EACH, FLAG_KEYS, type FlagKey, PROCESS } from './flag-keys.ts'

const HEAD = `{{/*
Made from the flags of the sidecars: npm exec -- node tools/docs/main.ts

Each template takes a dict: \`section\` is the part of the values, \`prefix\` is put before the names. _args.tpl says when.
*/}}
`

/** templates/_flags.tpl: the arguments of every flag whose value is passed unchanged. */
export function flagTemplates(keys: readonly FlagKey[] = FLAG_KEYS): string {
  const plain = keys.filter(({ by }) => by === undefined)
  const sections = [...new Set(plain.map(({ section }) => section))].sort((a, b) => rank(a) - rank(b))
  return [HEAD, ...sections.map((section) => template(section, plain))].join('\n')
}

/** What is about one sidecar or process first. */
function rank(section: string): number {
  const own = [...APPS, EACH, PROCESS].indexOf(section)
  return own < 0 ? APPS.length + 2 : own
}

function template(section: string, keys: readonly FlagKey[]): string {
  const lines = keys.filter((key) => key.section === section).map(argument)
  return `{{- define "csi-sidecars.flags.${section}" -}}\n${lines.join('\n')}\n{{- end }}\n`
}

function argument(key: FlagKey): string {
  return `{{- include "csi-sidecars.flag" (dict "prefix" .prefix "name" "${key.flag.name}" "value" ${expressionOf(key)}) -}}`
}

function expressionOf({ flag, name, sample }: FlagKey): string {
  const value = `.section.${name}`
  if (flag.type === 'gates') return `(include "csi-sidecars.pairs" (dict "map" ${value} "between" "="))`
  if (flag.type === 'labels') return `(include "csi-sidecars.pairs" (dict "map" ${value} "between" ":"))`
  return Array.isArray(sample) ? `(join "," ${value})` : value
}
