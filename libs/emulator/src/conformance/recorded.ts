import { readFileSync, writeFileSync } from 'node:fs'
import type { Told } from './story.ts'

const FILE = new URL('recorded.jsonl', import.meta.url)

/** What kube-apiserver v1.36.3 has answered to the stories, one answer a line. */
export function readRecorded(): readonly Told[] {
  const lines = readFileSync(FILE, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Told)
}

/** Records anew, from a real server. */
export function writeRecorded(told: readonly Told[]): void {
  writeFileSync(FILE, told.map((each) => `${JSON.stringify(each)}\n`).join(''))
}
