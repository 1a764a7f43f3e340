import type { App } from '../../e2e/harness/subject.ts'

/** Whose executable is measured. */
export type Side = 'ours' | 'original'

export const SIDES: readonly Side[] = ['ours', 'original']
export const APPS: readonly App[] = ['attacher', 'resizer']
