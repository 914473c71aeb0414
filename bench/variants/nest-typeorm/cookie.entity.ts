import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

@Entity('cookies')
export class Cookie {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column()
  flavor!: string;

  @Column()
  size!: string;

  @Column()
  wish!: string;
}
