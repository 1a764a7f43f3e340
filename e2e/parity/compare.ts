import type { View } from './view.ts'

/** The differences of one scenario, a line each: the field, then both values. */
export function differences(real: View, ours: View): readonly string[] {
  const lines: string[] = []
  for (const name of union(real.objects.keys(), ours.objects.keys())) {
    const there = real.objects.get(name)
    const here = ours.objects.get(name)
    if (there === undefined || here === undefined) {
      lines.push(`${name}: ${there === undefined ? 'only ours has it' : 'only the real one has it'}`)
      continue
    }
    for (const field of union(there.keys(), here.keys())) {
      const [expected, actual] = [there.get(field), here.get(field)]
      if (expected !== actual) lines.push(`${name}, ${field}: real ${show(expected)}, ours ${show(actual)}`)
    }
  }
  for (const event of real.events.difference(ours.events)) lines.push(`event, only real: ${event}`)
  for (const event of ours.events.difference(real.events)) lines.push(`event, only ours: ${event}`)
  return lines
}

function union(a: Iterable<string>, b: Iterable<string>): readonly string[] {
  return [...new Set([...a, ...b])].sort()
}

function show(value: string | undefined): string {
  return value ?? '-'
}
