import type { Facts } from './facts.ts'

/** What has changed between two versions of a project, a line each, by kind of fact. */
export function differencesOf(before: Facts, after: Facts): ReadonlyMap<string, readonly string[]> {
  const kinds = new Set([...Object.keys(before.facts), ...Object.keys(after.facts)])
  const changed = [...kinds].map((kind) => [kind, linesOf(before.facts[kind] ?? {}, after.facts[kind] ?? {})] as const)
  return new Map(changed.filter(([, lines]) => lines.length > 0))
}

type Named = Readonly<Record<string, string>>

function linesOf(before: Named, after: Named): readonly string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()
  return names.flatMap((name) => {
    const [was, is] = [before[name], after[name]]
    if (was === is) return []
    if (was === undefined) return [`new: ${shown(name, is)}`]
    return is === undefined ? [`gone: ${shown(name, was)}`] : [`changed: ${shown(name, was)}, now \`${is}\``]
  })
}

function shown(name: string, value: string | undefined): string {
  return value ? `\`${name}\` (\`${value}\`)` : `\`${name}\``
}

/** Of one project, as Markdown. Undefined: nothing has changed. */
export function sectionOf(project: string, before: Facts, after: Facts): string | undefined {
  const differences = differencesOf(before, after)
  if (differences.size === 0) return undefined
  const parts = [...differences].map(([kind, lines]) => `### ${kind}\n\n${lines.map((line) => `- ${line}\n`).join('')}`)
  return `## ${project}: ${before.version} to ${after.version}\n\n${parts.join('\n')}`
}
