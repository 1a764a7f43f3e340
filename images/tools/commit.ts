import { execFileSync } from 'node:child_process'
import { ROOT } from './bundle.ts'

/** The commit's time in milliseconds since 1970, so that the same commit gives the same files. */
export function committedAt(): number {
  const { SOURCE_DATE_EPOCH } = process.env
  return Number(SOURCE_DATE_EPOCH ?? git('log', '-1', '--format=%ct')) * 1000
}

export function revision(): string {
  return process.env['GITHUB_SHA'] ?? git('rev-parse', 'HEAD')
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
}
