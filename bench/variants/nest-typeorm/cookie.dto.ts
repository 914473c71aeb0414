import { IsIn, IsString, Length } from 'class-validator';

export class ReplaceCookieDto {
  @IsIn(['chocolate', 'vanilla', 'cinnamon'])
  flavor!: string;

  @IsIn(['small', 'medium', 'large'])
  size!: string;
}

export class CreateCookieDto extends ReplaceCookieDto {
  @IsString()
  @Length(1, 255)
  wish!: string;
}
