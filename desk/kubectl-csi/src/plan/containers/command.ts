import type { Container } from '@csi-sidecars/kube-types'

/** The command of a container. The texts are those of the manifest, with `$(VARIABLE)`. */
export interface CommandOfContainer {
  /** The program. Undefined if the image names it. */
  readonly program: string | undefined
  readonly args: readonly string[]
}

const SHELL = /(?:^|\/)(?:sh|bash|ash|dash|busybox|tini|dumb-init)$/

/** The variables of a container whose values the manifest contains. */
export type LiteralVariables = ReadonlyMap<string, string>

/** Splits `command` and `args` into the program and its arguments. */
export function commandOf({ command = [], args = [] }: Pick<Container, 'command' | 'args'>): CommandOfContainer {
  const [program, ...rest] = command
  return { program, args: [...rest, ...args] }
}

/** Reports whether another program starts the sidecar. Our images contain no other program. */
export function startsThroughShell({ program }: CommandOfContainer): boolean {
  return program !== undefined && SHELL.test(program)
}

/** Returns the last part of the program's path, or an empty text if the image names the program. */
export function programName({ program = '' }: CommandOfContainer): string {
  return program.slice(program.lastIndexOf('/') + 1)
}

export function variablesOf({ env = [] }: Pick<Container, 'env'>): LiteralVariables {
  return new Map(env.flatMap(({ name, value, valueFrom }) => (valueFrom == null ? [[name, value ?? '']] : [])))
}

/** Replaces `$(NAME)` as the kubelet does. Undefined if a value is known only when the pod runs. */
export function expanded(text: string, variables: LiteralVariables): string | undefined {
  let isKnown = true
  const result = text.replace(/\$(\$|\(([^()]{1,200})\))/g, (match, token: string, name: string | undefined) => {
    if (token === '$') return '$'
    const value = variables.get(name ?? '')
    if (value === undefined) isKnown = false
    return value ?? match
  })
  return isKnown ? result : undefined
}

/** Returns the names of the variables in a text. */
export function variablesIn(text: string): readonly string[] {
  return [...text.replaceAll('$$', '').matchAll(/\$\(([^()]{1,200})\)/g)].map(([, name = '']) => name)
}
